"""Plans for lesser CPUs: each level of x86-64 that this machine can execute, code and libraries alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import optax
import pytest

import epl
from epl import runtime
from steps import batches, mlp_parameters, training_step

BIN = Path(__file__).parents[2] / "build" / "bin"

NEEDS = {
    "x86-64": {"sse2"},
    "x86-64-v2": {"sse4.2", "ssse3", "popcnt"},
    "x86-64-v3": {"avx2", "fma", "bmi2", "f16c"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
}


def run(command: str, folder: Path, cpu: str = "host") -> subprocess.CompletedProcess[str]:
    program, *arguments = command.split()
    environment = {**os.environ, "EPL_CPU": cpu}
    return subprocess.run(
        [BIN / program, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a training step on digits, and its reference, which runs at every level."""
    path = tmp_path_factory.mktemp("levels")
    optimizer = optax.sgd(1e-2)  # adam on random moments divides by almost nothing
    parameters = mlp_parameters((64, 128, 10))
    ((x, y),) = batches(1, size=128, features=64)
    step = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices="cpu:2"
    )
    text = step.lower(parameters, optimizer.init(parameters), x, y).as_text()
    (path / "step.mlir").write_text(text)
    assert run("epl-compile step.mlir --reference -o reference.eplan", path, "x86-64").returncode == 0
    return path


@pytest.mark.parametrize("level", NEEDS)
def test_a_training_step_agrees_with_its_reference(folder: Path, level: str) -> None:
    if not NEEDS[level] <= set(runtime.module().host_cpu().split()):
        pytest.skip(f"this machine cannot execute {level}")
    compiled = run("epl-compile step.mlir --devices=cpu:2 -o step.eplan", folder, level)
    assert compiled.returncode == 0, compiled.stderr
    assert f'for "{level}"' in run("epl-plan dump step.eplan", folder).stdout
    command = "epl-run step.eplan --steps=3 --inputs=random:1 --reference=reference.eplan --rtol=1e-4"
    result = run(command, folder, level)
    assert result.returncode == 0, result.stdout + result.stderr


def test_code_beyond_the_level_is_refused(folder: Path) -> None:
    assert run("epl-compile step.mlir --cpu=x86-64-v3 -o v3.eplan", folder, "x86-64").returncode == 0
    result = run("epl-run v3.eplan", folder, "x86-64-v2")
    assert result.returncode == 1
    assert '"avx2"' in result.stderr
    assert "which EPL_CPU=x86-64-v2 lacks" in result.stderr


def test_an_unknown_level_is_an_error(folder: Path) -> None:
    result = run("epl-run reference.eplan", folder, "pentium")
    assert result.returncode == 1
    assert 'EPL_CPU is "pentium", expected host, x86-64, x86-64-v2,' in result.stderr


def test_a_step_in_python_is_compiled_for_the_level(tmp_path: Path) -> None:
    code = """if True:
        import epl, numpy as np
        def step(x):
            with epl.replicate():
                return (x + 1).sum()
        for _ in range(2):  # compiled, then found in the cache
            lowered = epl.parallelize(step, batch=(0,), devices=2).lower(np.ones((4, 3), np.float32))
            assert 'for "x86-64-v2"' in lowered.compile().plan.dump()
    """
    settings = {
        "EPL_CPU": "x86-64-v2",
        "EPL_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(epl.__file__).parents[1]),
    }
    result = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert len(list(tmp_path.iterdir())) == 1
