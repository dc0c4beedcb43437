"""A worker that trains a model of test/models beside `jax.jit`: `served_models.py NAME`."""

from __future__ import annotations

import importlib
import sys

import jax
import numpy as np

import epl
from steps import assert_near

ROUNDS = 5


def train(name: str) -> None:
    """Trains with all steps of the model; losses and states are those of one device."""
    epl.init("cpu:1")
    model = importlib.import_module(f"models.{name}").build()
    strategy = epl.ParameterServer(min_block_size=16)
    served = [epl.parallelize(step, state="state", batch=1, strategy=strategy) for step in model.steps]
    plain = [jax.jit(step) for step in model.steps]
    random, state, expected = np.random.default_rng(7), model.state, model.state
    for _ in range(ROUNDS):
        batch = model.batch(random)
        for one, other in zip(served, plain, strict=True):
            state, found = one(state, batch)
            expected, best = other(expected, batch)
            np.testing.assert_allclose(found, best, rtol=model.tolerance)
    assert_near(state, expected, 10 * model.tolerance)
    print(f"{name} has trained as on one device")


if __name__ == "__main__":
    train(*sys.argv[1:])
