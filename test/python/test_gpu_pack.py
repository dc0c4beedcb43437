"""The folder that runs on a machine with a GPU and its driver alone, over the stand-in of one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import cards

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "lib" / "libepl_cuda.so").exists(), reason="built without CUDA's headers"
)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pack") / "pack"
    make = [sys.executable, str(ROOT / "test" / "gpu" / "pack.py"), str(folder)]
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [*make, "--models", "gan", "mlp", "--programs", "2"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def run(pack: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `run.sh` gives; `variables` beside those of a login."""
    environment = {"PATH": os.environ["PATH"], **variables}
    command = [str(pack / "run.sh"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def stand_in() -> dict[str, str]:
    return {name: cards.environment()[name] for name in ("LD_LIBRARY_PATH", *cards.LIBRARIES)}


def test_all_is_right(pack: Path) -> None:
    done = run(pack, "--cards", "4", **stand_in())
    assert done.returncode == 0, done.stdout
    assert "ok    what the plugin relies on of a driver" in done.stdout
    assert "ok    gan1.4 on cuda:0-3" in done.stdout
    assert ", 0 wrong" in done.stdout


def test_what_is_wrong_is_said(pack: Path) -> None:
    done = run(pack, "--only", "gan0.2", EPL_CUDA_FAULT="epl_copy", **stand_in())
    assert done.returncode == 1
    assert "FAIL  gan0.2 on cuda:0x2 (exit code 1)" in done.stdout
    assert "0 right, 1 wrong" in done.stdout


def test_says_that_there_is_no_driver(pack: Path) -> None:
    done = run(pack, LD_LIBRARY_PATH="")
    assert done.returncode == 3
    assert "no CUDA driver" in done.stdout


ROW = re.compile(r"^ +\d+ +[\d.]+ [num]?s +([\d.]+) [num]?s +[\d.]+  (.+)$", re.M)


def measured(text: str) -> dict[str, float]:
    """Of each kind of command, in whatever unit."""
    return {kind: float(time) for time, kind in ROW.findall(text)}


def test_benchmarks_stand_beside_predictions(pack: Path) -> None:
    done = run(pack, "--benchmarks", "--cards", "2", **stand_in())
    assert done.returncode == 0, done.stdout
    head, one, two = re.split(r"\n\nmlp0\.\d on (?:cuda:0|cuda:0-1)\n", done.stdout)
    assert "measured on: EPL's stand-in of a GPU" in head
    assert "times of the stand-in, which runs kernels on a CPU: they say nothing of a card" in head
    assert "no table of a card of that name, so predictions are for h100" in head
    assert "ratio: measured / predicted" in one
    assert measured(one)["product of f32"] > 0
    assert measured(one)["flat kernel"] > 0
    assert "all_reduce" not in measured(one)
    assert measured(two)["all_reduce"] > 0
    assert "2 measured, 0 failed" in two


def test_a_benchmark_that_fails_is_said(pack: Path) -> None:
    done = run(pack, "--benchmarks", "--only", "mlp0.1", "--card", "toaster", **stand_in())
    assert done.returncode == 1
    assert 'FAIL  mlp0.1 on cuda:0\n      error: machine "toaster" is none of' in done.stdout
    assert run(pack, "--benchmarks", "--only", "nothing", **stand_in()).returncode == 1
