"""What the differential fuzzer does with a program that fails: it says so and keeps it as a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = ROOT / "test" / "differential" / "run.py"


def run(*options: str, compiler: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", **({"EPL_COMPILE": str(compiler)} if compiler else {})}
    command = [sys.executable, RUN, *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def refusing_compiler(tmp_path: Path) -> Path:
    """A compiler that compiles nothing with the devices of the programs, and all else as it should be."""
    path = tmp_path / "epl-compile"
    real = ROOT / "build" / "bin" / "epl-compile"
    path.write_text(
        f'#!/bin/sh\ncase "$*" in *--devices*) echo broken >&2; exit 3;; esac\nexec {real} "$@"\n'
    )
    path.chmod(0o755)
    return path


def test_a_program_that_fails_is_kept_and_told_at_the_end(tmp_path: Path, refusing_compiler: Path) -> None:
    done = run("--programs=1", "--seed=1000007", f"--keep={tmp_path}", compiler=refusing_compiler)
    assert done.returncode == 1, done.stderr
    kept = tmp_path / "seed-1000007.mlir"
    assert done.stdout.splitlines()[-2:] == [
        "seed 1000007 failed, a fresh seed: the fault may be older than the change",
        f"  its program is in {kept}, and `--programs 1 --seed 1000007` makes it again",
    ]
    text = kept.read_text()
    assert text.startswith("// epl-compile --devices=")
    assert "func.func @main" in text
    assert text.endswith("// broken\n")


def test_what_failed_once_is_checked_again(refusing_compiler: Path) -> None:
    files = {file.name for file in (ROOT / "test" / "differential" / "found").glob("*.mlir")}
    assert files
    done = run(compiler=refusing_compiler)
    assert done.returncode == 1, done.stderr
    assert all(f"{name} fails again: broken" in done.stdout for name in files)
