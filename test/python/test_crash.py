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
OPT = BUILD / "bin" / "epl-opt"


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


def run_on_stack(kib: int, *command: object) -> subprocess.CompletedProcess[str]:
    """Runs a command with a stack of so many KiB."""
    return subprocess.run(
        ["bash", "-c", f'ulimit -s {kib} && exec "$@"', "-", *map(str, command)],
        input="module {}", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


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


def test_a_phase_that_crashes_can_be_run_again(tmp_path: Path) -> None:
    step, phase = tmp_path / "step.mlir", tmp_path / "phase.mlir"
    step.write_text(chain())
    keep = f"--mlir-pass-pipeline-crash-reproducer={phase}"
    done = run_on_stack(64, COMPILER, step, "--devices=cpu:2", "-o", tmp_path / "step.eplan", keep)
    assert done.returncode == -11
    assert f"note: the phase alone: epl-opt --run-reproducer {phase}\n" in done.stderr
    text = phase.read_text()
    assert text.startswith('// The module as phase "codegen" of epl-compile found it')
    assert 'pipeline: "builtin.module(epl-lower-kernels{' in text
    # epl-opt needs more, knowing more dialects; where a stack begins is chance, to within some KiB.
    enough = next(kib for kib in range(64, 1024, 8) if run_on_stack(kib, OPT).returncode == 0)
    again = run_on_stack(enough + 20, OPT, "--run-reproducer", phase)
    assert again.returncode == -11
    assert "error: epl-opt has crashed" in again.stderr


def test_a_step_that_is_overwritten_while_it_is_compiled(tmp_path: Path) -> None:
    """Errors show the line that was read, far behind the new end of the file."""
    step = tmp_path / "builtin_module_no-symbol-name" / "0_epl-unroll-loops.mlir"
    step.parent.mkdir()
    bad = '%0 = epl.constrain %x to <[{"no-axis"}]> : tensor<8xf32>'
    step.write_text(
        "// what came before\n" * 4000
        + 'func.func @main(%x: tensor<8xf32> {epl.role = "constant"}) -> tensor<8xf32> {\n'
        + f"{bad}\nreturn %0 : tensor<8xf32>\n}}\n"
    )
    options = ["--mlir-print-ir-after=epl-unroll-loops", f"--mlir-print-ir-tree-dir={tmp_path}"]
    done = subprocess.run(
        [COMPILER, step, "--devices=cpu:2", "-o", tmp_path / "step.eplan", *options],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f'{step}:4002:6: error: constraint names axis "no-axis"' in done.stderr
    assert bad in done.stderr
    assert step.stat().st_size < 4000


@pytest.mark.parametrize("link", [False, True])
def test_the_step_is_no_place_for_a_phase(tmp_path: Path, link: bool) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(chain(1))
    phase = step
    if link:
        phase = tmp_path / "link.mlir"
        phase.symlink_to(step)
    keep = f"--mlir-pass-pipeline-crash-reproducer={phase}"
    done = subprocess.run(
        [COMPILER, step, "-o", tmp_path / "step.eplan", keep],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f'"{phase}" is the step, expected another file' in done.stderr
    assert step.read_text() == chain(1)


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
