"""What a terminal shows of a long compilation."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import epl
from epl import progress
from epl.compile import emit
from epl.progress import Progress, describe, split_diagnostics

# A compiler that takes three seconds, says how far it is, and fails.
COMPILER = """\
#!/bin/sh
cat > /dev/null
echo "$@" > "$0.arguments"
echo 'progress: 20% shard, epl-place' >&2
sleep 3
echo 'progress: 80% codegen, 12/40 kernels' >&2
sleep 1
echo 'train.py:3:1: error: no' >&2
exit 1
"""
COMPILE = """
import sys
import time
sys.path[:0] = {paths!r}
import epl
from epl.compile import emit
try:
    emit("module {{}}", "cpu:2", "train_step", "local")
except epl.CompileError as error:
    print("[", error, "]", sep="")
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "epl-compile"
    program.write_text(COMPILER)
    program.chmod(0o755)
    return {**os.environ, "EPL_COMPILE": str(program)}


def command() -> list[str]:
    return [sys.executable, "-c", COMPILE.format(paths=sys.path)]


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """All that a program shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(arguments, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the last one has closed it
                break
            shown += part
            if not part:
                break
        assert process.wait() == 0
    os.close(ours)
    return shown.decode()


def test_a_terminal_shows_one_line_and_the_time_left(environment: dict[str, str]) -> None:
    shown = on_a_terminal(command(), environment)
    *lines, last = shown.split("\r\x1b[K")
    assert re.fullmatch(
        r"train_step: compiling, 2 s, 20 % \(shard, epl-place\), about [89] s left", lines[1]
    ), shown
    assert "train_step: compiling, 3 s, 80 % (codegen, 12/40 kernels), about 1 s left" in lines
    assert last == "[train.py:3: no]\r\n"  # the line is gone, and no progress is in the error
    assert "\n" not in "".join(lines)


def test_nothing_is_shown_elsewhere(environment: dict[str, str]) -> None:
    result = subprocess.run(command(), env=environment, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert result.stdout == "[train.py:3: no]\n"
    arguments = Path(environment["EPL_COMPILE"] + ".arguments").read_text()
    assert "--progress" not in arguments


def test_a_check_ends_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "epl-compile"
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("EPL_COMPILE", str(program))
    calls = []

    def check() -> None:
        calls.append(time.monotonic())
        if len(calls) == 3:
            raise epl.ProcessError("the job has ended")

    start = time.monotonic()
    with progress.checking(check), pytest.raises(epl.ProcessError, match="the job has ended"):
        emit("module {}", "cpu:2", "train_step", "local")
    assert time.monotonic() - start < 60
    monkeypatch.setenv("EPL_COMPILE", "/bin/true")
    assert emit("module {}", "cpu:2", "train_step", "local") == ""
    assert len(calls) == 3, "behind the block nobody asks"


def test_the_time_left_is_an_estimate() -> None:
    assert Progress(20, "").seconds_left(3) == pytest.approx(12)
    assert Progress(4, "").seconds_left(3) is None
    assert describe("s", None, 3) == "s: compiling, 3 s"
    assert describe("s", Progress(3, "parse"), 3) == "s: compiling, 3 s, 3 % (parse)"


def test_progress_is_no_diagnostic() -> None:
    text = "progress: 1% parse\na.py:1:1: error: progress: none\nprogress: 2% shard\nprogress: 3"
    newest, rest = split_diagnostics(text)
    assert newest == Progress(2, "shard")
    assert rest == "a.py:1:1: error: progress: none\nprogress: 3"
