"""A compiler that a signal ends says whose fault it is and what to send us, in a few lines."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

import epl
from conftest import BUILD, Fake
from epl.compile import compile_plan

COMPILER = BUILD / "bin" / "epl-compile"


def chain(length: int = 300) -> str:
    """A step of so many exponentials: code generation goes as deep as a kernel is long."""
    lines = ['func.func @main(%x0: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32>']
    lines += ["attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {"]
    lines += ["%e = tensor.empty() : tensor<4xf32>"]
    for i in range(length):
        operands = f"ins(%x{i} : tensor<4xf32>) outs(%e : tensor<4xf32>)"
        lines += [f"%x{i + 1} = linalg.exp {operands} -> tensor<4xf32>"]
    return "\n".join([*lines, f"return %x{length} : tensor<4xf32>", "}"])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is kept here."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def kept_step(folder: Path) -> Path:
    (path,) = folder.glob("epl-crash-*.mlir")
    return path


def command_in(message: str) -> list[str]:
    found = re.search(r"the command that shows it: (.*)", message)
    assert found is not None
    return shlex.split(found[1])


def test_an_overflow_of_the_stack_on_the_command_line(tmp_path: Path) -> None:
    command = f"ulimit -s 64 && exec {COMPILER} - --devices=cpu:2 -o {tmp_path}/step.eplan"
    done = subprocess.run(
        ["bash", "-c", command], input=chain(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -11
    first, second, third = done.stderr.splitlines()
    assert first == 'error: epl-compile was ended by SIGSEGV in phase "codegen": this is a bug of EPL'
    assert kept_step(tmp_path).read_text() == chain()
    assert re.fullmatch(r"note: EPL \d+\.\d+\.\d+, LLVM 22\.\d+\.\d+, \S+", third)
    subprocess.run(command_in(second), check=True, timeout=60)  # with the usual stack
    assert (tmp_path / "step.eplan").exists()


def test_an_overflow_of_the_stack_from_python(
    compiler: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler(f'ulimit -s 64; exec {COMPILER} "$@"')
    with pytest.raises(epl.CompileError) as error:
        compile_plan(chain(), ["--devices=cpu:2"], "train_step")
    lines = str(error.value).splitlines()
    assert lines[0] == (
        'epl-compile was ended by SIGSEGV on step "train_step" in phase "codegen": this is a bug of EPL'
    )
    assert len(lines) == 3
    assert "LLVM 22." in lines[2]
    assert kept_step(tmp_path).read_text() == chain()
    monkeypatch.chdir(tmp_path)
    subprocess.run(command_in(lines[1]), check=True, timeout=60)
    assert Path("step.eplan").exists()


def test_a_file_on_the_command_line_is_not_copied(tmp_path: Path) -> None:
    step = tmp_path / "a step.mlir"
    step.write_text(chain())
    done = subprocess.run(
        ["bash", "-c", 'ulimit -s 64 && exec "$@"', "-", COMPILER, step, "-o", tmp_path / "step.eplan"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -11
    assert command_in(done.stderr)[1] == str(step)
    assert not list(tmp_path.glob("epl-crash-*"))


def test_a_compiler_that_says_nothing(compiler: Fake, tmp_path: Path) -> None:
    compiler("cat > /dev/null; echo assertion >&2; kill -SEGV $$")
    with pytest.raises(epl.CompileError) as error:
        compile_plan("module {}", ["--devices=cpu:2"], "step")
    lines = str(error.value).splitlines()
    assert lines[0] == 'epl-compile was ended by SIGSEGV on step "step": this is a bug of EPL'
    assert lines[1] == "assertion"
    assert kept_step(tmp_path).read_text() == "module {}"
    assert command_in(lines[2])[1:] == [str(kept_step(tmp_path)), "--devices=cpu:2", "-o", "step.eplan"]


def test_the_version_that_the_error_asks_for() -> None:
    done = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert re.fullmatch(r"EPL \d+\.\d+\.\d+, LLVM 22\.\d+\.\d+, \S+\n", done.stdout)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("KILL", "as the system does where memory runs out"), ("TERM", "by another program")],
)
def test_what_others_end_is_no_bug(compiler: Fake, tmp_path: Path, name: str, reason: str) -> None:
    compiler(f"cat > /dev/null; kill -{name} $$")
    with pytest.raises(epl.CompileError) as error:
        compile_plan("module {}", ["--devices=cpu:2"], "step")
    assert str(error.value) == f'epl-compile was ended by SIG{name} on step "step", {reason}'
    assert not list(tmp_path.glob("epl-crash-*"))
