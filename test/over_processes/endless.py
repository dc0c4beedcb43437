"""Trains without end, for tests that end one of its processes; says its process id.

mpirun -n 2 python endless.py       FAIL=raise|exit VICTIM=1 AFTER=2.5 (environment): how, who, and when
"""

from __future__ import annotations

import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import epl

epl.init(devices="cpu:4")


@epl.parallelize(state="params", batch=("x", "y"))
def train(params, x, y):  # type: ignore[no-untyped-def]
    """A step of gradient descent."""

    def loss(params):  # type: ignore[no-untyped-def]
        with epl.replicate():
            return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def fail(how: str) -> None:
    """Ends this process."""
    if how == "raise":
        raise ValueError("no such file: x")
    if how == "exit":
        sys.exit(0)
    if how == "vanish":
        os._exit(3)


def main() -> None:
    """Trains until something ends it."""
    is_victim = os.environ["OMPI_COMM_WORLD_RANK"] == os.environ.get("VICTIM")
    params = {"w1": jnp.ones((16, 32)) / 7, "w2": jnp.ones((32, 16)) / 9}
    x = np.random.default_rng(0).normal(size=(24, 16)).astype(np.float32)
    params, _ = train(params, x, np.tanh(x))
    print(f"BEGUN {os.environ['OMPI_COMM_WORLD_RANK']} {os.getpid()}", flush=True)
    begin = time.monotonic()
    while True:
        params, _ = train(params, x, np.tanh(x))
        if is_victim and time.monotonic() - begin > float(os.environ["AFTER"]):
            fail(os.environ["FAIL"])


main()
