"""What the programs have in common: standard output that takes nothing, and files that cannot be written."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import epl

BIN = Path(__file__).parents[2] / "build" / "bin"
STEP = """
func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
"""
NOBODY = 65534

COMMANDS = {
    "epl-run": "epl-run step.eplan --reference=reference.eplan",
    "epl-run --help": "epl-run --help",
    "epl-plan dump": "epl-plan dump step.eplan",
    "epl-plan verify": "epl-plan verify step.eplan",
    "epl-plan --help": "epl-plan --help",
    "epl-compile --emit": "epl-compile step.mlir --emit=local",
    "epl-compile --emit --timing": "epl-compile step.mlir --emit=local --timing",
    "epl-compile --help": "epl-compile --help",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with step.mlir and the plans step.eplan, reference.eplan and features.eplan."""
    for kind in ("step", "reference", "features"):
        subprocess.run([BIN / "EplWriteTestPlan", kind, tmp_path / f"{kind}.eplan"], check=True)
    (tmp_path / "step.mlir").write_text(STEP)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_cannot_be_printed_is_an_error(folder: Path, command: str) -> None:
    for redirection, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        result = shell(f"{command} {redirection}", folder)
        assert result.returncode == 1
        assert f"error: cannot write standard output: {reason}\n" in result.stderr
    assert shell(command, folder).returncode == 0


def test_a_closed_standard_output_does_not_reach_the_plan(folder: Path) -> None:
    result = shell("epl-compile step.mlir -o closed.eplan >&-", folder)
    assert result.returncode == 0, result.stderr
    assert shell("epl-plan verify closed.eplan", folder).returncode == 0


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Root may write everywhere: the block runs as nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that everybody may enter and nobody may write to. pytest's own are closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_read_only_folder_is_an_error_of_python(folder: Path, read_only: Path) -> None:
    plan = epl.load(folder / "step.eplan", devices=2)
    table = np.arange(4000, dtype=np.float32)  # too large for the text of a program
    closed = epl.parallelize(lambda x: x + table, batch="x", devices=2).lower(table).compile()

    def trace() -> None:
        with plan.trace(read_only / "t.json"):
            plan(np.zeros(4, np.int64), np.zeros((2, 3), np.int64))

    actions: dict[str, Callable[[], None]] = {
        "step.eplan": lambda: plan.save(read_only / "step.eplan"),
        "closed.eplan.hidden.npz": lambda: closed.save(read_only / "closed.eplan"),
        "t.json": trace,
    }
    for name, action in actions.items():
        with ordinary_user(), pytest.raises(epl.Error, match=f'"{read_only}/{name}": Permission denied'):
            action()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("epl-compile step.mlir -o {}/m.eplan", "m.eplan"),
        ("epl-run step.eplan --trace={}/t.json", "t.json"),
        ("epl-run step.eplan --outputs={}/out", "out"),
        ("epl-run step.eplan --outputs={}", "s2.bin"),
    ],
)
def test_a_read_only_folder_is_an_error_of_the_tools(
    folder: Path, read_only: Path, command: str, name: str
) -> None:
    if os.geteuid() == 0 and not _others_may_run(BIN / "epl-run"):
        pytest.skip("root, and other users cannot enter the build folder")
    for part in (folder, *folder.parents):
        if part.stat().st_mode & 0o005 != 0o005:
            part.chmod(0o755)
    user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    arguments = [
        str(BIN / word) if word.startswith("epl-") else word for word in command.format(read_only).split()
    ]
    result = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, **user)
    assert result.returncode == 1
    assert f'"{read_only}/{name}' in result.stderr
    assert "Permission denied" in result.stderr


def _others_may_run(program: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (program, *program.parents))


def test_a_cpu_that_lacks_a_feature_is_named(folder: Path) -> None:
    message = 'the plan\'s kernels need the CPU feature(s) "avx9000", which this CPU lacks'
    result = shell("epl-run features.eplan", folder)
    assert (result.returncode, result.stderr) == (1, f"error: {message}\n")
    with pytest.raises(epl.Error) as error:
        epl.load(folder / "features.eplan", devices=1)
    assert str(error.value) == message
    assert shell("epl-plan verify features.eplan", folder).returncode == 0  # a plan may be looked at anywhere


def test_a_plan_names_the_features_of_the_cpu_that_it_is_compiled_for(folder: Path) -> None:
    assert shell("epl-compile step.mlir --cpu=bdver4 -o m.eplan", folder).returncode == 0
    dump = shell("epl-plan dump m.eplan", folder).stdout
    assert 'for "bdver4" with "sse3"' in dump
    assert "avx512" not in dump
    assert shell("epl-compile step.mlir --cpu=x86-64 -o m.eplan", folder).returncode == 0
    assert shell("epl-run m.eplan", folder).returncode == 0  # on any CPU
    result = shell("epl-compile step.mlir --cpu=i9000 -o m.eplan", folder)
    assert result.returncode == 1
    assert 'error: unknown CPU "i9000" (--cpu or EPL_CPU), expected host, a level (x86-64' in result.stderr
