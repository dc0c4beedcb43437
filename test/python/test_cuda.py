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
from typing import Any

import pytest

from test_models import NAMES

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import cards

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "build" / "lib" / "libepl_cuda.so"
NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))
SEEDS = range(1, 21) if NIGHTLY else range(1, 2)
SETTINGS = ("EPL_CUDA_BLOCKING", "EPL_CUDA_SAME_BITS", "EPL_CUDA_TF32", *cards.LIBRARIES)
"""What says something to a real driver, too."""

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="built without CUDA's headers")


def skip_on_driver(number: int, **more: str) -> None:
    """Skips what a real driver has not: more cards than there are, faults, orders and costs on demand."""
    if not cards.ON_DRIVER:
        return
    if number > cards.count():
        pytest.skip(f"{number} GPUs")
    if any(name not in SETTINGS for name in more):
        pytest.skip("the stand-in of a GPU")


def run_on(number: int, code: str, tmp_path: Path, seed: int = 1, findings: int = 0, **more: str) -> str:
    """Runs a program that finds so many cards; what it prints. The stand-in must have found nothing else."""
    skip_on_driver(number, **more)
    report = tmp_path / "report.json"
    environment = cards.environment() | {
        "EPL_CUDA_DEVICES": str(number),
        "EPL_CUDA_SEED": str(seed),
        "EPL_CUDA_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **more,
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
    found = [] if cards.ON_DRIVER else json.loads(report.read_text())["findings"]
    assert len(found) == findings, found
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


def drop_waits(plan: Path) -> str:
    """What is said of a plan each of whose waits has been left out."""
    program = ROOT / "build" / "bin" / "epl-drop-waits"
    done = subprocess.run([program, plan], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["mlp_adam.mlir", "--devices=cuda:0x2"],
        ["mlp_adam.mlir", "--devices=cuda:0x2", "--offload"],
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
    assert ", missed 0" in drop_waits(plan)


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


def test_cards_that_are_used_count_from_0(tmp_path: Path) -> None:
    code = """
import numpy as np, epl
def on(devices, cards):
    epl.init(devices, {"cluster.run_visible_devices": cards})
    w, _ = epl.parallelize(lambda w, x: (w + x.sum(0), x.sum()), state="w", batch="x")(
        np.ones(3, np.float32), np.ones((4, 3), np.float32))
    assert (np.asarray(w) == 5).all()
    return sorted(str(device) for device in w.devices())
assert on("cuda:0-1", "3,1") == ["cuda:1", "cuda:3"]
assert on("cuda:1x2", "3,1") == ["cuda:1", "cuda:1"]
assert on("cuda:*", "2-3") == ["cuda:2"]
try:
    on("cuda:0", "4")
except epl.Error as error:
    assert '"cuda:4" names card 4, found 4 cards' in str(error)
else:
    raise AssertionError("there is no card 4")
"""
    run_on(4, code, tmp_path)


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


ADDS = """
import json
import numpy as np, epl
def adds(w, x):
    return w + x.sum(0), (x * 2, w.sum())
"""


def run_adds(number: int, code: str, tmp_path: Path, **more: Any) -> str:
    """As run_on, with a step whose state adds up its batches."""
    return run_on(number, ADDS + code, tmp_path, **more)


def report_of(tmp_path: Path) -> dict[str, Any]:
    """What the stand-in says of the program that ran last."""
    if cards.ON_DRIVER:
        pytest.skip("the stand-in of a GPU")
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    return report


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_come_while_the_step_before_runs(seed: int, tmp_path: Path) -> None:
    """Calls are queued, each with a batch of its own; a graph is made once."""
    code = """
for devices in ["cuda:0x2", "cuda:0-1"]:
    step = epl.parallelize(adds, devices=devices, state="w", batch="x")
    w = expected = np.ones(3, np.float32)
    calls = []
    for i in range(20):
        x = np.full((4, 3), i, np.float32)
        w, results = step(w, x)
        calls.append((x, results))
    for x, (doubled, total) in calls:
        assert (np.asarray(doubled) == 2 * x).all()
        assert float(total) == expected.sum()
        expected = expected + x.sum(0)
    assert (np.asarray(w) == expected).all()
"""
    run_adds(2, code, tmp_path, seed=seed)
    report = report_of(tmp_path)
    # Steps of NCCL are none.
    assert (report["graphs"], report["graph_launches"]) == (1, 20)


def test_what_communicates_is_urgent(tmp_path: Path) -> None:
    """Other lanes wait for it: where kernels of several could run, its own come first."""
    code = """
step = epl.parallelize(adds, devices="cuda:0x2", state="w", batch="x")
step(np.ones(3, np.float32), np.ones((4, 3), np.float32))
"""
    run_adds(1, code, tmp_path)
    kernels = report_of(tmp_path)["kernels"]
    urgent = {name for name, counters in kernels.items() if counters["priority"] < 0}
    assert "epl_sum_f32" in urgent
    assert not any(name.startswith("k") for name in urgent)
    assert any(name.startswith("k") for name in kernels)


COMMUNICATION = """
import subprocess
import jax, numpy as np, epl

def step(ws, x):
    gradients = jax.grad(lambda ws: sum((x[:, i] @ w).sum() for i, w in enumerate(ws)))(ws)
    return [w - g for w, g in zip(ws, gradients)]

random = np.random.default_rng(0)
draw = lambda *shape: random.integers(-3, 4, shape).astype(np.float32)
ws, x = [draw(6, 5) for _ in range(8)], draw(16, 8, 6)
expected = jax.jit(step)(ws, x)
for devices in ("cuda:0-3", "cuda:0x4"):
    own = epl.parallelize(step, devices=devices, state="ws", batch="x", config={config})
    for a, b in zip(own(ws, x), expected):
        assert (np.asarray(a) == np.asarray(b)).all(), devices
    compiled = own.newest.compile()
    assert compiled.plan.num_collectives == {sums}, compiled.plan.num_collectives
    compiled.save({file!r})
    plan = subprocess.run([{tool!r}, "dump", {file!r}], capture_output=True, text=True, check=True).stdout
    lanes = [line for line in plan.splitlines() if line.startswith("lane") and "communicate" in line]
    assert len(lanes) == {lanes}, lanes
"""


@pytest.mark.parametrize(
    ("config", "sums", "lanes"),
    [
        ({}, 1, 1),
        ({"communication.max_splits": 1}, 1, 1),
        ({"communication.max_splits": 5}, 4, 1),  # pairs, as of five groups each has at most a quarter
        ({"communication.max_splits": 5, "communication.num_communicators": 2}, 4, 2),
        ({"communication.fuse": False, "communication.num_communicators": 3}, 8, 3),
        ({"communication.fp16": True}, 1, 1),
        ({"communication.fp16": "bf16", "communication.num_communicators": 2}, 1, 1),
    ],
    ids=str,
)
def test_sums_of_gradients_on_lanes(config: dict[str, object], sums: int, lanes: int, tmp_path: Path) -> None:
    """Groups and lanes are those of the plan, within a card and between cards, bit by bit right."""
    file, tool = str(tmp_path / "step.eplan"), str(ROOT / "build" / "bin" / "epl-plan")
    run_on(4, COMMUNICATION.format(config=config, sums=sums, lanes=lanes, file=file, tool=tool), tmp_path)
    kernels = report_of(tmp_path)["kernels"]  # of the one card; the others have NCCL
    narrow = {True: "f16", "bf16": "bf16"}.get(config.get("communication.fp16"), "f32")  # type: ignore[call-overload]
    assert f"epl_sum_{narrow}" in kernels
    assert kernels[f"epl_sum_{narrow}"]["priority"] < 0


def test_a_graph_takes_other_addresses(tmp_path: Path) -> None:
    """Each step writes its state to new memory; the graph that was made first runs on it."""
    code = """
step = epl.parallelize(adds, devices="cuda:0x2", state="w", batch="x", donate=False)
values = [np.ones(3, np.float32)]
for i in range(6):
    values.append(step(values[-1], np.full((4, 3), i, np.float32))[0])
for i in range(6):
    assert (np.asarray(values[i + 1]) == np.asarray(values[i]) + 4 * i).all(), i
"""
    run_adds(1, code, tmp_path)
    report = report_of(tmp_path)
    assert (report["graphs"], report["graph_launches"]) == (1, 6)


def test_a_timeline_has_the_commands_of_all_devices(tmp_path: Path) -> None:
    code = f"""
step = epl.parallelize(adds, devices="cuda:0x2", state="w", batch="x")
w, x = np.ones(3, np.float32), np.ones((4, 3), np.float32)
w, _ = step(w, x)
compiled = step.lower(w, x).compile()
with compiled.trace({str(tmp_path / "t.json")!r}):
    w, _ = compiled(w, x)
    w, _ = compiled(w, x)
w, _ = compiled(w, x)
assert (np.asarray(w) == 17).all()
events = json.load(open({str(tmp_path / "t.json")!r}))["traceEvents"]
ran = [event for event in events if event["ph"] == "X" and event["cat"] != "step"]
assert {{event["pid"] for event in ran}} == {{0, 1}}
assert len({{event["args"]["call"] for event in ran}}) == 2
assert "collective" in {{event["cat"] for event in ran}}
assert all(event["dur"] >= 0 for event in ran)
assert "cuda:0" in {{event["args"].get("name") for event in events if event["name"] == "process_name"}}
"""
    run_adds(1, code, tmp_path)


@pytest.mark.parametrize("blocking", ["0", "1"])
def test_a_kernel_that_faults_ends_the_step(blocking: str, tmp_path: Path) -> None:
    code = """
step = epl.parallelize(adds, devices="cuda:0x2", state="w", batch="x")
for _ in range(2):
    try:
        np.asarray(step(np.ones(3, np.float32), np.ones((4, 3), np.float32))[0])
        print("no error")
    except epl.Error as error:
        print(error)
"""
    said = run_adds(1, code, tmp_path, findings=1, EPL_CUDA_FAULT="epl_sum_f32", EPL_CUDA_BLOCKING=blocking)
    assert said.count("CUDA_ERROR_ILLEGAL_ADDRESS") >= 2  # the card is lost
    assert "no error" not in said
    if blocking == "1":
        assert 'call 1 of adds failed: command "' in said
        assert "<string>:5 on rank " in said
    else:
        assert "EPL_CUDA_BLOCKING=1 in the environment tells which command" in said


def test_a_step_that_blocks_has_the_same_results(tmp_path: Path) -> None:
    code = """
step = epl.parallelize(adds, devices="cuda:0-1", state="w", batch="x")
w = np.ones(3, np.float32)
for i in range(3):
    w, _ = step(w, np.ones((4, 3), np.float32))
assert (np.asarray(w) == 13).all()
"""
    run_adds(2, code, tmp_path, EPL_CUDA_BLOCKING="1")
    assert report_of(tmp_path)["graph_launches"] == 0


FACTORS = """
import jax, jax.numpy as jnp, numpy as np, epl
def step(w, x):
    return jnp.linalg.cholesky(w @ w.T + x.sum() * jnp.eye(4)), x.sum()
own = epl.parallelize(step, devices="{devices}", state="w", batch="x", donate=False)
w = expected = np.eye(4, dtype=np.float32)
for i in range(4):
    x = np.full((2, 3), i + 1, np.float32)
    w, _ = own(w, x)
    expected, _ = jax.jit(step)(expected, x)
np.testing.assert_allclose(np.asarray(w), expected, rtol=1e-5)
"""


def test_a_factorization_of_the_host_takes_other_addresses(tmp_path: Path) -> None:
    """Its copies to the host are no kernels: the graph is captured again, while batches are on their way."""
    run_on(1, FACTORS.format(devices="cuda:0x2"), tmp_path, EPL_CUSOLVER="")
    assert report_of(tmp_path)["graphs"] == 1


OPTIMIZER = """
import jax, jax.numpy as jnp, numpy as np, epl, optax
optimizer = optax.adam(0.1)

def loss(params, x):
    return sum((w * w).sum() * x.sum() for w in params)

def step(state, x):
    params, moments = state
    value, gradients = jax.value_and_grad(loss)(params, x)
    updates, moments = optimizer.update(gradients, moments)
    return (optax.apply_updates(params, updates), moments), value

params = [1 + np.arange(size, dtype=np.float32) / size for size in (8, 3000, 40, 16, 8, 1024, 2048, 4096)]
state = expected = params, optimizer.init(params)
own = epl.parallelize(step, devices="cuda:0x2", state="state", batch="x", donate={donate})
for i in range(3):
    x = np.full((2, 3), i + 1, np.float32)
    state, value = own(state, x)
    expected, expected_value = jax.jit(step)(expected, x)
    np.testing.assert_allclose(float(value), float(expected_value), rtol=1e-5)
for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(expected)):
    np.testing.assert_allclose(np.asarray(a), b, rtol=2e-5)
"""


def launches_of_adam(tmp_path: Path) -> int:
    kernels = report_of(tmp_path)["kernels"]
    return sum(counters["launches"] for name, counters in kernels.items() if "sqrt" in name)


@pytest.mark.parametrize("donate", [True, False])
def test_an_optimizer_is_one_launch_for_all_tensors(donate: bool, tmp_path: Path) -> None:
    """Also where each step has its state at other addresses."""
    run_on(1, OPTIMIZER.format(donate=donate), tmp_path)
    assert launches_of_adam(tmp_path) == 3 * 2  # steps, devices
    assert report_of(tmp_path)["graphs"] == 1
    run_on(1, OPTIMIZER.format(donate=donate), tmp_path, EPL_CUDA_BLOCKING="1")
    assert launches_of_adam(tmp_path) == 3 * 2 * 8


PRODUCTS = """
import jax, jax.numpy as jnp, numpy as np, epl

def loss(params, x):
    hidden = jnp.einsum("bsd,hde->bhse", x, params[0])
    scores = jnp.einsum("bhse,bhte->bhst", hidden, hidden)
    return ((scores @ hidden) @ params[1]).sum() / 64

def step(params, x):
    value, gradients = jax.value_and_grad(loss)(params, x)
    return [p - g / 64 for p, g in zip(params, gradients)], value

draw = np.random.default_rng(0)
params = [draw.standard_normal(shape).astype(np.float32) / 4 for shape in ((2, 6, 4), (4, 3))]
x = draw.standard_normal((4, 5, 6)).astype(np.float32)
own = epl.parallelize(step, devices="cuda:0x2", state="params", batch="x", donate={donate})
state = expected = params
for i in range(3):
    state, value = own(state, x)
    expected, expected_value = jax.jit(step)(expected, x)
    np.testing.assert_allclose(float(value), float(expected_value), rtol=1e-4)
for a, b in zip(state, expected):
    np.testing.assert_allclose(np.asarray(a), b, rtol=1e-4, atol=1e-5)
"""
CUBLASLT = Path("/usr/local/cuda/lib64/libcublasLt.so.13")


MOVES = """
other = epl.parallelize(
    lambda params, extra, x: (step(params, x)[0], extra + x.sum()),
    devices="cuda:0x2", state=("params", "extra"), batch="x", donate=False,
)
jitted = jax.jit(lambda params, extra, x: (step(params, x)[0], extra + x.sum()))
states = [(params, np.zeros(3, np.float32))]
for _ in range(3):
    states.append(other(*states[-1], x))
kept = []
for first, second in [(1, 2), (1, 0), (2, 1), (2, 2)]:
    found = other(states[first][0], states[second][1], x)
    kept.append(found)
    expected = jitted([np.asarray(p) for p in states[first][0]], np.asarray(states[second][1]), x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-4, atol=1e-5)
"""


def test_a_graph_that_was_updated_takes_other_addresses(tmp_path: Path) -> None:
    """Also of operands that only kernels of the plan read."""
    run_on(1, PRODUCTS.format(donate=True) + MOVES, tmp_path)


def products(tmp_path: Path) -> set[str]:
    """The kernels that have multiplied."""
    return {name for name in report_of(tmp_path)["kernels"] if name.startswith(("matmul_", "epl_contract_"))}


@pytest.mark.parametrize("donate", [True, False])
def test_products_are_the_librarys(donate: bool, tmp_path: Path) -> None:
    """A graph with its calls takes other addresses, too."""
    more = {"EPL_CUBLASLT_REAL": str(CUBLASLT)} if CUBLASLT.exists() else {}
    run_on(1, PRODUCTS.format(donate=donate), tmp_path, **more)
    assert products(tmp_path) == {"matmul_f32_f32"}
    assert report_of(tmp_path)["graphs"] == 1


def test_without_a_library_generated_code_multiplies(tmp_path: Path) -> None:
    """Which is said once, whatever number of steps and cards there is, with what to do."""
    code = "import os\nos.dup2(1, 2)\n" + PRODUCTS.format(donate=True)
    code += "own = epl.parallelize(step, devices='cuda:0-1')\nown(params, x)\n"
    said = run_on(2, code, tmp_path, EPL_CUBLASLT="")
    lines = [line for line in said.splitlines() if "code that is slower than a library" in line]
    assert len(lines) == 1
    assert "pip install nvidia-cublas, or name it in EPL_CUBLASLT" in lines[0]
    assert products(tmp_path) == {"epl_contract_f32"}


def test_a_switch_is_0_or_1(tmp_path: Path) -> None:
    code = (
        PRODUCTS.format(donate=True).split("state = expected")[0]
        + """
try:
    own(params, x)
except epl.Error as error:
    print(error)
"""
    )
    said = run_on(1, code, tmp_path, EPL_CUDA_TF32="yes")
    assert 'EPL_CUDA_TF32 is "yes", expected 0 or 1' in said
