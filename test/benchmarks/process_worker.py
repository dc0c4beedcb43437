"""One process of `several_processes.py`: steps of an MLP of 67 MB; the first process prints a line of JSON.

[mpirun -n N] python process_worker.py DEVICES STEPS     {"begun": when the first step had ended, by the
                                                         clock of the machine, "steps": seconds of each}
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import epl
from epl.processes import group

WIDTH, LAYERS, BATCH = 2048, 4, 256


def main() -> None:
    """Trains, and prints."""
    devices, steps = int(sys.argv[1]), int(sys.argv[2])
    epl.init(devices=devices)

    @epl.parallelize(state="params", batch=("x", "y"))
    def train(params, x, y):  # type: ignore[no-untyped-def]
        def loss(params):  # type: ignore[no-untyped-def]
            with epl.replicate():
                h = x
                for weight in params:
                    h = jnp.tanh(h @ weight)
                return jnp.mean((h - y) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return [p - 0.1 * g for p, g in zip(params, grads, strict=True)], value

    random = np.random.default_rng(0)
    params = [random.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 45 for _ in range(LAYERS)]
    x = random.normal(size=(BATCH, WIDTH)).astype(np.float32)
    params, value = train(params, x, x)
    float(value)
    begun = time.time()
    found = []
    for _ in range(steps):
        begin = time.perf_counter()
        params, value = train(params, x, x)
        float(value)
        found.append(time.perf_counter() - begin)
    if group.speaks():
        print(json.dumps({"begun": begun, "steps": found}), flush=True)


if __name__ == "__main__":
    main()
