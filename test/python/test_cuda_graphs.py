"""Steps whose cards exchange by NCCL: what lies between is graphs, over the stand-in of a GPU.

How many calls of the driver a step takes is counted by the stand-in: those of a run with more steps, less
those of one with fewer, as the first step of a program is enqueued call by call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from test_cuda import PLUGIN, SEEDS, report_of, run_on

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="built without CUDA's headers")

LAYERS = """
import jax, jax.numpy as jnp, numpy as np, epl

def loss(ws, x):
    for w in ws:
        x = x @ w
        x = jnp.where(x > 0, x, 0) - 1
    return x.sum()

def step(ws, x):
    value, gradients = jax.value_and_grad(loss)(ws, x)
    return [jnp.clip(w - g, -1, 1) for w, g in zip(ws, gradients)], value

random = np.random.default_rng(0)
ws = [random.integers(-1, 2, (4, 4)).astype(np.float32) for _ in range({layers})]
x = random.integers(-2, 3, (8, 4)).astype(np.float32)
own = epl.parallelize(
    step, devices="{devices}", state="ws", batch="x", donate={donate}, config={config},
)
found = expected = ws
for _ in range({steps}):
    found, value = own(found, x)
    expected, other = jax.jit(step)(expected, x)
    assert float(value) == float(other)
for a, b in zip(found, expected):
    assert (np.asarray(a) == np.asarray(b)).all()
print(own.newest.compile().plan.num_collectives)
"""


COUNTS = ("graphs", "graph_launches", "stream_calls")


def counts(steps: int, tmp_path: Path, seed: int = 1, layers: int = 4, **more: str) -> dict[str, int]:
    """What the stand-in has counted of a run, and the collectives of its plan."""
    options = {"devices": "cuda:0-3", "donate": "True", "config": "{'communication.fuse': False}"} | more
    environment = {name: options.pop(name) for name in list(options) if name.isupper()}
    said = run_on(4, LAYERS.format(steps=steps, layers=layers, **options), tmp_path, seed, **environment)
    report = report_of(tmp_path)
    return {"collectives": int(said.split()[-1])} | {name: report[name] for name in COUNTS}


def of_a_step(tmp_path: Path, layers: int, **more: str) -> dict[str, int]:
    """The same of a step that is not the first one; graphs and collectives of the run."""
    few, many = (counts(steps, tmp_path, layers=layers, **more) for steps in (2, 5))
    assert few["graphs"] == many["graphs"]
    return many | {name: (many[name] - few[name]) // 3 for name in COUNTS[1:]}


@pytest.mark.parametrize("layers", [2, 5])
def test_what_lies_between_transfers_is_graphs(layers: int, tmp_path: Path) -> None:
    """One before each sum, and the updates behind the last one: not a call for each kernel, wait and card."""
    found = of_a_step(tmp_path, layers)
    assert found["collectives"] == layers + 1  # of gradients and of the loss
    assert found["graphs"] == found["graph_launches"] == found["collectives"] + 1
    one_by_one = of_a_step(tmp_path, layers, EPL_CUDA_BLOCKING="1")
    assert one_by_one["graph_launches"] == 0
    assert found["stream_calls"] < one_by_one["stream_calls"] / 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("devices", ["cuda:0-3", "cuda:0-1x2"])
def test_graphs_between_transfers_take_other_addresses(devices: str, seed: int, tmp_path: Path) -> None:
    """Where each step has its state elsewhere; on virtual devices all moves are kernels of one graph."""
    found = counts(4, tmp_path, seed, devices=devices, donate="False")
    if devices == "cuda:0-3":
        assert found["graphs"] == found["collectives"] + 1
        assert (
            found["graph_launches"] == 3 * found["graphs"]
        )  # the first step is enqueued, as products are new
    else:
        assert (found["graphs"], found["graph_launches"]) == (1, 3)


def test_without_nccl_a_step_of_one_process_is_one_graph(tmp_path: Path) -> None:
    """Its cards move all by kernels that read one another's memory."""
    found = counts(3, tmp_path, EPL_NCCL="")
    assert (found["graphs"], found["graph_launches"]) == (1, 2)


def test_a_timeline_between_steps_of_graphs(tmp_path: Path) -> None:
    """It is enqueued command by command on the same streams, and its steps have the same results."""
    code = LAYERS.format(
        steps=2, layers=3, devices="cuda:0-3", donate="True", config="{'communication.fuse': False}"
    )
    code += f"""
compiled = own.lower(found, x).compile()
for _ in range(2):
    with compiled.trace({str(tmp_path / "t.json")!r}):
        found, value = own(found, x)
    expected, other = jax.jit(step)(expected, x)
    assert float(value) == float(other)
    found, value = own(found, x)
    expected, other = jax.jit(step)(expected, x)
    assert float(value) == float(other)
import json
events = json.load(open({str(tmp_path / "t.json")!r}))["traceEvents"]
ran = [event for event in events if event["ph"] == "X" and event["cat"] != "step"]
assert {{event["pid"] for event in ran}} == {{0, 1, 2, 3}}
assert "collective" in {{event["cat"] for event in ran}}
assert all(event["dur"] >= 0 for event in ran)
"""
    run_on(4, code, tmp_path)
    assert report_of(tmp_path)["graph_launches"] > 0
