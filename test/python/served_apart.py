"""Programs whose workers have something for themselves, or end apart: `served_apart.py NAME [ARGUMENT ...]`.

The gradient of worker n is (n + 1) / 2, of two workers 0.75 on average, so all numbers are exact in 16 bits.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from served import WORKER


def make_step(strategy: epl.ParameterServer, optimizer: Any) -> Any:
    """A step with an optimizer, a running mean of batches and a key."""

    def step(params: Any, opt_state: Any, own: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda params: jnp.mean(x * params["w"]))(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        own = {"mean": 0.5 * own["mean"] + 0.5 * x.mean(0), "key": jax.random.split(own["key"])[0]}
        return optax.apply_updates(params, updates), opt_state, own, loss

    return epl.parallelize(step, state=("params", "opt_state", "own"), batch="x", strategy=strategy)


def first(optimizer: Any, dtype: str = "float32") -> tuple[Any, Any, Any]:
    """What the step begins with."""
    params = {"w": np.zeros(2, dtype)}
    own = {"mean": np.zeros(2, dtype), "key": jax.random.PRNGKey(WORKER)}
    return params, optimizer.init(params), own


def batch(dtype: str = "float32") -> Any:
    """This worker's."""
    return np.full((4, 2), WORKER + 1, dtype)


def have(mode: str, folder: str) -> None:
    """Five steps by a rate that is 0 from the fifth update on, whoever's it is."""
    epl.init("cpu:1")
    optimizer = optax.sgd(optax.piecewise_constant_schedule(1.0, {4: 0.0}))
    step = make_step(epl.ParameterServer(mode=mode), optimizer)  # type: ignore[arg-type]
    params, opt_state, own = first(optimizer)
    key = own["key"]
    for k in range(5):
        if k == 4:  # once the updates of both workers are there
            np.asarray(params["w"])
            epl.workers.sum(1)
        params, opt_state, own, _ = step(params, opt_state, own, batch())
        key = jax.random.split(key)[0]
    (count,) = (int(np.asarray(leaf)) for leaf in jax.tree.leaves(opt_state))
    if mode == "sync":
        assert count == 5
        np.testing.assert_array_equal(np.asarray(params["w"]), -3)
    else:
        assert count in (9, 10)
        assert -4 <= float(np.asarray(params["w"])[0]) <= -2
    np.testing.assert_array_equal(np.asarray(own["mean"]), (WORKER + 1) * (1 - 1 / 32))
    np.testing.assert_array_equal(np.asarray(own["key"]), key)
    with epl.Checkpoints(folder) as checkpoints:
        checkpoints.save(5, {"params": params, "own": own})
    epl.workers.sum(1)  # worker 0 has saved
    with epl.Checkpoints(folder) as checkpoints:
        saved = checkpoints.restore({"params": params, "own": own})
    np.testing.assert_array_equal(np.asarray(saved["own"]["mean"]), 1 - 1 / 32)
    print(f"worker {WORKER} has its own, and what worker 0 has saved")


def end(dtype: str) -> None:
    """Three steps of worker 0, five of worker 1, of which the last two are its own alone."""
    epl.init("cpu:1")
    optimizer = optax.sgd(1.0)
    step = make_step(epl.ParameterServer(), optimizer)
    params, opt_state, own = first(optimizer, dtype)
    for _ in range(3 + 2 * WORKER):
        params, opt_state, own, _ = step(params, opt_state, own, batch(dtype))
    if WORKER == 1:
        np.testing.assert_array_equal(np.asarray(params["w"]).astype("float32"), -(3 * 0.75 + 2))
    print(f"worker {WORKER} has trained")


def lose() -> None:
    """Worker 1 is lost behind its first step; worker 0 goes on with what it has."""
    epl.init("cpu:1")
    optimizer = optax.sgd(1.0)
    step = make_step(epl.ParameterServer(on_lost="continue"), optimizer)
    params, opt_state, own = first(optimizer)
    for _ in range(5):
        params, opt_state, own, _ = step(params, opt_state, own, batch())
        if WORKER == 1:
            np.asarray(params["w"])  # so the servers have its gradient
            os._exit(7)
    np.testing.assert_array_equal(np.asarray(params["w"]), -(0.75 + 4 * 0.5))
    print(f"worker {WORKER} has trained")


def fork() -> None:
    """Forks before JAX has threads, which no child outlives; the child has another end than the worker."""
    epl.init("cpu:1")
    child = os.fork()
    if child == 0:
        sys.exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    optimizer = optax.sgd(1.0)
    step = make_step(epl.ParameterServer(), optimizer)
    params, opt_state, own = first(optimizer)
    for _ in range(2):
        params, opt_state, own, _ = step(params, opt_state, own, batch())
    np.testing.assert_array_equal(np.asarray(params["w"]), -0.75 * 2)
    print(f"worker {WORKER} has trained")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
