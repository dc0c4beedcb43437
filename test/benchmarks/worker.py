"""One engine on one model in one process, steered by lines on standard input.

Prints {"compile": seconds, "cached": seconds or null} when ready; each line N then runs N steps and prints
{"seconds": ...}. The number of cores is that of the engine's devices, so that peers have equal means.

    python worker.py ENGINE DEVICES MODEL [PLAN]     ENGINE: epl or jax; PLAN: where the plan goes
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

engine, devices, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:devices])
if engine == "jax":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"

import jax  # noqa: E402  # reads XLA_FLAGS and counts the cores when it is loaded
import numpy as np  # noqa: E402
from models import MODELS  # noqa: E402

import epl  # noqa: E402

model = MODELS[name]()


def build_jax() -> tuple[Callable[..., Any], list[Any], Any]:
    """The step under jax.jit with the batch sharded over host devices, as a user of JAX would write it."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    replicated = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    sharded = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    state = jax.device_put(model.state, replicated)
    batch = jax.device_put(model.batch, sharded)
    step = jax.jit(model.step, donate_argnums=(0, 1), out_shardings=replicated)
    return step.lower(*state, *batch).compile(), state, batch


def build_epl() -> tuple[Callable[..., Any], list[Any], Any]:
    """The same step under epl.parallelize."""
    step = epl.parallelize(model.step, state=(0, 1), batch=(2, 3), devices=f"cpu:{devices}")
    return step.lower(*model.state, *model.batch).compile(), model.state, model.batch


def timed(build: Callable[[], Any]) -> tuple[Any, float]:
    """What `build` returns, and the seconds it took."""
    begin = time.perf_counter()
    built = build()
    return built, time.perf_counter() - begin


build = build_epl if engine == "epl" else build_jax
with tempfile.TemporaryDirectory() as os.environ["EPL_CACHE_DIR"]:  # empty: the first time is cold
    (step, state, batch), cold = timed(build)
    cached = timed(build)[1] if engine == "epl" else None


def run(steps: int) -> None:
    """Run that many steps, each to its end: XLA's host devices deadlock when steps pile up."""
    global state
    for _ in range(steps):
        *state, loss = step(*state, *batch)
        jax.block_until_ready((state, loss))


if len(sys.argv) > 4:
    step.save(sys.argv[4])
run(3)
print(json.dumps({"compile": cold, "cached": cached}), flush=True)

for line in sys.stdin:
    begin = time.perf_counter()
    run(int(line))
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
