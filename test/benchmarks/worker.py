"""One engine on one model in one process, steered by lines on standard input.

Prints {"compile": seconds, "losses": [of three steps]} when ready; each line N then runs N steps and prints
{"seconds": ...}. The number
of cores is that of the engine's devices, so that peers have equal means. Compiling is all from the Python
function to what can be called: tracing, lowering, code and loading it; not the imports, nor the first arrays,
with which JAX starts its devices. EPL's cache and JAX's own are used as the environment says.

    python worker.py ENGINE DEVICES MODEL [PLAN]     ENGINE: epl or jax, with data parallelism; epl-split or
                                                     jax-split, the latter with the shardings that EPL chose;
                                                     epl-micro, in 4 micro-batches; epl-amp, in mixed
                                                     precision; PLAN: where the plan goes
"""

import json
import os
import sys
import time
from typing import Any

engine, devices, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:devices])
if engine.startswith("jax"):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"

import jax  # noqa: E402  # reads XLA_FLAGS and counts the cores when it is loaded
import numpy as np  # noqa: E402
from shardings import named_shardings, split_scopes  # noqa: E402

import epl  # noqa: E402
from models import DEEP, MODELS  # noqa: E402

if engine.endswith("split"):
    split_scopes(devices)
model = (MODELS | DEEP)[name]()
configs: dict[str, dict[str, Any]] = {
    "epl-micro": {"pipeline.num_micro_batch": 4},
    "epl-amp": {"amp.level": "o1"},
}
config = configs.get(engine, {})
ours = epl.parallelize(model.step, state=(0, 1), batch=(2, 3), devices=f"cpu:{devices}", config=config)

if engine == "jax":  # sharded over host devices, as a user of JAX would write it
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    replicated = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    sharded = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    states, batches = [replicated] * len(model.state), [sharded] * len(model.batch)
elif engine == "jax-split":
    plan = ours.lower(*model.state, *model.batch).compile().plan
    states, batches = named_shardings(plan, (model.state, list(model.batch)), (1, devices))
if engine.startswith("jax"):
    state, batch = jax.device_put(model.state, states), jax.device_put(list(model.batch), batches)
else:
    state, batch = model.state, model.batch


def build() -> Any:
    """The compiled step."""
    step = ours
    if engine.startswith("jax"):
        step = jax.jit(model.step, donate_argnums=(0, 1), out_shardings=(*states, None))
    return step.lower(*state, *batch).compile()


def run(steps: int) -> list[Any]:
    """The losses of that many steps, each run to its end: XLA's host devices deadlock when steps pile up."""
    global state
    losses = []
    for _ in range(steps):
        *state, loss = step(*state, *batch)
        losses.append(jax.block_until_ready((state, loss))[1])
    return losses


jax.block_until_ready(state)
begin = time.perf_counter()
step = build()
seconds = time.perf_counter() - begin
if len(sys.argv) > 4:
    step.save(sys.argv[4])
losses = [float(loss) for loss in run(3)]
print(json.dumps({"compile": seconds, "losses": losses}), flush=True)

for line in sys.stdin:
    begin = time.perf_counter()
    run(int(line))
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
