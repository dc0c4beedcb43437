"""Plans on GPUs, where there is none.

The plugin's own calls of the driver run on the stand-in of a GPU, which also reports races, reads of what
nobody wrote, and operations that nothing orders (docs/design.md, section 10).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from test_models import NAMES

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "build" / "lib" / "libepl_cuda.so"
DRIVER = ROOT / "build" / "cuda"
NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))
SEEDS = range(1, 21) if NIGHTLY else range(1, 2)

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="built without CUDA's headers")


def run_on(cards: int, code: str, tmp_path: Path, seed: int = 1) -> str:
    """Runs a program that finds so many cards; what it prints. The stand-in must have found nothing."""
    report = tmp_path / "report.json"
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(DRIVER),
        "EPL_CUDA_DEVICES": str(cards),
        "EPL_CUDA_SEED": str(seed),
        "EPL_CUDA_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(report.read_text())["findings"] == []
    return done.stdout


MODEL = """
import importlib
import jax, numpy as np, epl
from test_models import train
model = importlib.import_module("models.{name}").build()
expected, losses = train(model, [jax.jit(step) for step in model.steps])
steps = [epl.parallelize(s, devices="{devices}", state="state", batch=1) for s in model.steps]
found, own = train(model, steps)
np.testing.assert_allclose(own, losses, rtol=max(model.tolerance, 1e-4))
"""


@pytest.mark.parametrize("devices", ["cuda:0", "cuda:0x2", "cuda:0-1"] if NIGHTLY else ["cuda:0x2"])
@pytest.mark.parametrize("name", NAMES if NIGHTLY else ["kfac", "moe_top_k"])
def test_models_train_as_jax_does(name: str, devices: str, tmp_path: Path) -> None:
    run_on(2, MODEL.format(name=name, devices=devices), tmp_path)


INTEGERS = """
import jax, jax.numpy as jnp, numpy as np, epl

def loss(params, x, y):
    with {first}:
        h = x @ params[0]
    with {second}:
        h = h * 2 @ params[1]
    with {third}:
        return ((h - y) ** 2).sum()

def step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return [p - g * 2.0**-12 for p, g in zip(params, gradients)], value

random = np.random.default_rng(0)
draw = lambda *shape: random.integers(-3, 4, shape).astype(np.float32)
params, x, y = [draw(8, 12), draw(12, 4)], draw(16, 8), draw(16, 4)
expected, expected_value = jax.jit(step)(params, x, y)
config = {config}
for devices in {devices}:
    own = epl.parallelize(step, devices=devices, state="params", batch=("x", "y"), config=config)
    state, value = own(params, x, y)
    assert float(value) == float(expected_value), (devices, value, expected_value)
    for a, b in zip(state, expected):
        assert (np.asarray(a) == np.asarray(b)).all(), devices
    state, value = own(state, x, y)
    state, value = own(state, x, y)
    assert np.isfinite(float(value))
"""


@pytest.mark.parametrize(
    ("scopes", "config"),
    [
        (("epl.replicate()", "epl.replicate()", "epl.replicate()"), {}),
        (("epl.split()", "epl.split()", "epl.split()"), {}),
        (
            ("epl.replicate()", "epl.split()", "epl.replicate()"),
            {"cluster.colocate_split_and_replicate": True},
        ),
        (("epl.replicate()",) * 3, {"zero.level": "v2"}),
        (
            ('epl.replicate(name="a")', 'epl.replicate(name="b")', 'epl.replicate(name="b")'),
            {"pipeline.num_micro_batch": 4},
        ),
    ],
)
def test_layouts_have_the_bits_of_one_device(
    scopes: tuple[str, str, str], config: dict[str, object], tmp_path: Path
) -> None:
    first, second, third = scopes
    code = INTEGERS.format(
        first=first, second=second, third=third, config=config, devices=["cuda:0x4", "cuda:0-3", "cuda:0-1x2"]
    )
    for seed in SEEDS:
        run_on(4, code, tmp_path, seed)


@pytest.mark.parametrize(
    "options",
    [
        ["mlp_adam.mlir", "--devices=cuda:0x2"],
        ["gather.mlir", "--devices=cuda:0x4"],
        ["pipeline.mlir", "--devices=cuda:0x2", "--micro-batches=2"],
        ["pipeline.mlir", "--devices=cuda:0x4", "--micro-batches=4", "--schedule=gpipe"],
    ],
)
def test_a_wait_that_is_missing_is_found(options: list[str], tmp_path: Path) -> None:
    plan, programs = tmp_path / "step.eplan", ROOT / "build" / "bin"
    step, *more = options
    compiler = [programs / "epl-compile", ROOT / "test" / "models" / step, *more, "-o", plan]
    subprocess.run(compiler, check=True, capture_output=True)
    done = subprocess.run([programs / "epl-drop-waits", plan], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", missed 0" in done.stdout


def test_arrays_are_copied_to_the_host(tmp_path: Path) -> None:
    code = """
import jax, jax.numpy as jnp, numpy as np, epl
step = epl.parallelize(lambda w, x: (w + x.sum(0), x * 2), devices="cuda:0x2", state="w", batch="x")
w, doubled = step(np.ones(3, np.float32), np.ones((4, 3), np.float32))
assert (np.asarray(w) == 5).all() and (jnp.asarray(w) == 5).all() and (np.asarray(doubled) == 2).all()
kept = np.asarray(w)
again, _ = step(w, np.ones((4, 3), np.float32))
assert (kept == 5).all() and (np.asarray(again) == 9).all()
print(repr(again))
"""
    assert "9." in run_on(1, code, tmp_path)


def test_without_a_driver_it_says_so(tmp_path: Path) -> None:
    plan = tmp_path / "step.eplan"
    program = ROOT / "build" / "bin"
    step = ROOT / "test" / "models" / "mlp_adam.mlir"
    subprocess.run(
        [program / "epl-compile", step, "--devices=cuda:0", "-o", plan], check=True, capture_output=True
    )
    done = subprocess.run([program / "epl-run", plan], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "no CUDA driver" in done.stderr


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ("cuda:3", '"cuda:3" names card 3, found 2 cards'),
        ("cuda:0-2", '"cuda:0-2" names card 2, found 2 cards'),
    ],
)
def test_cards_that_are_not_there_are_named(devices: str, message: str, tmp_path: Path) -> None:
    code = f"""
import numpy as np, epl
try:
    epl.parallelize(lambda x: x + 1, devices="{devices}")(np.ones(3, np.float32))
except epl.Error as error:
    print(error)
"""
    assert message in run_on(2, code, tmp_path)


def test_memory_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_CUDA_MEMORY", str(1 << 20))
    code = """
import numpy as np, epl
try:
    epl.parallelize(lambda x: x + 1, devices="cuda:0")(np.ones(1 << 20, np.float32))
except epl.Error as error:
    print(error)
"""
    assert "takes 4194304 bytes on card 0, of which" in run_on(1, code, tmp_path)
