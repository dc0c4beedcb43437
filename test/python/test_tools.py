"""What the programs have in common: standard output that takes nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).parents[2] / "build" / "bin"
STEP = """
func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
"""

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
    """A folder with step.mlir and the plans step.eplan and reference.eplan."""
    for kind in ("step", "reference"):
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
