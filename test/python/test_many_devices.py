"""Many more devices than cores: 64 on two, with results as on one and no wait without end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import batches, mlp_parameters, training_step

DEVICES = 64


@pytest.fixture(autouse=True)
def _two_cores() -> Iterator[None]:
    """At most two cores for this thread and the workers that it starts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:2])
    yield
    os.sched_setaffinity(0, before)


def test_training_agrees_with_jax() -> None:
    optimizer = optax.adam(1e-2)
    step = training_step(optimizer)
    parallel = epl.parallelize(step, state=(0, 1), batch=(2, 3), devices=DEVICES)
    parameters = mlp_parameters()
    state: Any = (parameters, optimizer.init(parameters))
    expected = state
    for x, y in batches(20, size=2 * DEVICES):
        *state, loss = parallel(*state, x, y)
        *expected, expected_loss = jax.jit(step)(*expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    for found, wanted in zip(jax.tree.leaves(state), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def collective_step(x: jax.Array) -> Any:
    """Every kind of reduction over the batch, and products of all samples with all."""
    with epl.replicate():
        reduced = x.sum(0), x.max(0), x.min(0), jnp.prod(x % 3 - 1, 0), (x > 3).all(0), (x > 3).any(0)
        return *reduced, x @ x.T, x - x.max(0)


def test_collectives_agree_with_jax_to_the_last_bit() -> None:
    parallel = epl.parallelize(collective_step, batch=(0,), devices=DEVICES)
    for seed, width in enumerate((1, 17, 100)):
        x = np.random.default_rng(seed).integers(-8, 8, (3 * DEVICES, width)).astype(np.float32)
        compiled = parallel.lower(x).compile()
        for kind in ("all_reduce", "all_gather"):
            assert kind in compiled.plan.dump()
        for _ in range(5):
            for found, wanted in zip(compiled(x), jax.jit(collective_step)(x), strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_steps_of_several_sessions_run_at_once() -> None:
    def step(state: jax.Array, x: jax.Array) -> jax.Array:
        with epl.replicate():
            return state + x.sum()

    parallel = [
        epl.parallelize(step, state=("state",), batch=("x",), devices=n) for n in (DEVICES, DEVICES, 1)
    ]
    states: list[Any] = [np.zeros((), np.float32) for _ in parallel]
    x = np.ones((DEVICES, 3), np.float32)
    for _ in range(50):  # a step that returns states alone does not wait
        states = [one(state, x) for one, state in zip(parallel, states, strict=True)]
    assert [float(state) for state in states] == [50 * x.size] * 3
