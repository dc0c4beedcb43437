"""The documents are true: their code runs and prints what they say, and the files they name exist."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from over_processes.launching import environment_of

ROOT = Path(__file__).parents[2]
SAVED_BY_PADDLE = (
    ROOT / "test" / "paddle_programs" / "tutorial"
)  # by the code of the tutorial that is Paddle's
DOCUMENTS = [
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/design.md", "docs/epl.md", "docs/glossary.md",
    "docs/fluid.md", "docs/torch.md", "docs/tour.md", "docs/tutorial.md",
]  # fmt: skip
_LONGEST_PARAGRAPH = 150  # words; docs/design.md, section 11
_BLOCK = re.compile(r"^```(?P<language>python|sh|text)\n(?P<code>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"\n*# (\w+\.py)\n")  # the first line of a script that is launched
_CONNECTED = re.compile(r"^\d+: \[Gloo\] .*\n", re.M)  # JAX says that its processes are connected
_SECONDS = 300  # for what hangs
_PRINTED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(document: str) -> list[tuple[str, str]]:
    """Languages and texts of the code blocks; each of Python stands at its own line number."""
    text = (ROOT / document).read_text()
    found = []
    for match in _BLOCK.finditer(text):
        above = "\n" * (text.count("\n", 0, match.start()) + 1)
        found.append((match["language"], (above if match["language"] == "python" else "") + match["code"]))
    return found


def run_python(code: str, file: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        exec(compile(code, file, "exec"), names)
    return out.getvalue()


def run_shell(code: str) -> str:
    path = os.pathsep.join(
        [str(ROOT / "build" / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    command = ["bash", "-euo", "pipefail", "-c", code]
    environment = environment_of(PATH=path, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return _CONNECTED.sub("", done.stdout)


def test_the_tutorial_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved = {path.name for path in SAVED_BY_PADDLE.iterdir()}
    for name in saved:
        shutil.copy(SAVED_BY_PADDLE / name, tmp_path)
    (language, install), *rest = blocks("docs/tutorial.md")
    assert language == "sh"
    assert install.startswith("scripts/setup")  # has been done
    names: dict[str, Any] = {"__name__": "tutorial"}
    printed = ""
    for language, code in rest:
        if language == "text":
            assert doctest.OutputChecker().check_output(code, printed, _PRINTED), (code, printed)
        elif language == "python" and (file := _FILE.match(code)):
            (tmp_path / file[1]).write_text(code.lstrip())
        elif language == "python":
            printed = run_python(code, str(tmp_path / "tutorial.py"), names)
        else:
            printed = run_shell(code)
    written = {"step.eplan", "step.txt", "step.svg", "step.json", "pipeline.eplan", "pipeline.svg"}
    written |= {"run7", "model.safetensors", "train.py", "run8", "trained", "served.py", "tables.py"}
    assert {path.name for path in tmp_path.iterdir()} == written | saved


def named_files(document: str) -> set[str]:
    """Paths in backquotes, and targets of links; a path that does not begin at the root goes on from the
    folder of the last one that does."""
    found, folder = set(), Path()
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / document).read_text(), flags=re.DOTALL | re.MULTILINE)
    for path, target in re.findall(r"`([\w/-]+\.(?:cpp|h|py|td|fbs|md))`|\]\((?!https?:)([^)#]+)\)", text):
        if target:
            found.add(os.path.normpath(Path(document).parent / target))
            continue
        begins_at_root = "/" in path and (ROOT / Path(path).parts[0]).exists()
        folder = Path(path).parent if begins_at_root else folder
        found.add(str(Path(path) if begins_at_root else folder / path))
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_exists(document: str) -> None:
    files = named_files(document)
    assert files
    assert [file for file in sorted(files) if not (ROOT / file).exists()] == []


def paragraphs(document: str) -> list[str]:
    """Prose: paragraphs, points of lists, rows of tables."""
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / document).read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. |\|))", text)


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/design.md", "docs/glossary.md"])
def test_no_paragraph_is_long(document: str) -> None:
    found = paragraphs(document)
    assert len(found) > 20
    assert [text for text in found if len(text.split()) > _LONGEST_PARAGRAPH] == []


def test_the_tour_goes_through_all_parts() -> None:
    folders = {str(Path(file).parent) for file in named_files("docs/tour.md")}
    for part in ("python/epl", "passes", "runtime", "tools"):
        assert any(folder.startswith(part) for folder in folders)
    missing = [
        folder for folder in ("annotate", "shard", "kernel", "emit") if f"passes/{folder}" not in folders
    ]
    assert missing == []
