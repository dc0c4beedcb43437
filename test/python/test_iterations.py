"""Loops over parts of the batch, written by hand: gradients of several iterations that are added up."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import epl
from epl.adapters.jax import loops
from steps import assert_near

WIDTH = 5


def data(rows: int) -> tuple[jax.Array, np.ndarray]:
    random = np.random.default_rng(0)
    w = jnp.asarray(random.normal(0, 0.4, (WIDTH, WIDTH)), jnp.float32)
    return w, random.normal(size=(rows, WIDTH)).astype(np.float32)


def accumulating(trip_count: int) -> Any:
    def step(w: jax.Array, x: jax.Array) -> Any:
        def loss(w: jax.Array, x: jax.Array) -> jax.Array:
            with epl.replicate():
                return (jnp.tanh(x @ w) ** 2).mean()

        def iteration(total: jax.Array, x: jax.Array) -> Any:
            value, gradient = jax.value_and_grad(loss)(w, x)
            return total + gradient, value

        total, values = lax.scan(iteration, jnp.zeros_like(w), x.reshape(trip_count, -1, WIDTH))
        return w - 0.1 * total / trip_count, values.mean()

    return step


def check(trip_count: int, rows: int, devices: int) -> str:
    """Beside `jax.jit`; the listing of the global program."""
    w, x = data(rows)
    step = accumulating(trip_count)
    parallel = epl.parallelize(step, state="w", batch="x", devices=devices)
    assert_near(parallel(w, x), jax.jit(step)(w, x), 1e-5)
    return parallel.lower(w, x).as_text("global")


@pytest.mark.parametrize("kept", [False, True], ids=["unrolled", "a loop"])
@pytest.mark.parametrize("devices", [2, 3])
def test_devices_share_the_samples_of_an_iteration(
    devices: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kept:
        monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)
    text = check(trip_count=4, rows=24, devices=devices)
    assert ("in each of the 4 iterations" in text) == kept
    assert f"f32[6/data, {WIDTH}]" in text
    assert f"f32[6, {WIDTH}]" not in text


def test_samples_that_do_not_divide_are_told() -> None:
    check(trip_count=4, rows=12, devices=2)
    step = epl.parallelize(accumulating(4), state="w", batch="x", devices=2)
    told = step.lower(*data(12)).explain()
    assert (
        "each of 4 iterations takes 3 samples, which 2 devices do not divide: each computes all of them"
        in told
    )
    assert "test_iterations.py" in told


def one_by_one(w: jax.Array, x: jax.Array) -> jax.Array:
    with epl.replicate():
        return lax.map(lambda row: (jnp.tanh(row @ w) ** 2).sum(), x).mean()


def mapped(w: jax.Array, x: jax.Array) -> jax.Array:
    with epl.replicate():
        return jax.vmap(lambda row: (jnp.tanh(row @ w) ** 2).sum())(x).mean()


def several_in_an_iteration(w: jax.Array, x: jax.Array) -> jax.Array:
    with epl.replicate():
        return lax.map(lambda row: (jnp.tanh(row @ w) ** 2).sum(), x, batch_size=4).mean()


def test_samples_one_by_one_are_told_and_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)
    w, x = data(24)
    told = {}
    for loss in (one_by_one, mapped, several_in_an_iteration):
        step = epl.parallelize(loss, batch="x", devices=2)
        np.testing.assert_allclose(step(w, x), jax.jit(loss)(w, x), rtol=1e-5)
        told[loss] = step.lower(w, x).explain()
    assert 'the loop of 24 iterations takes the samples of argument "x" one by one' in told[one_by_one]
    for remedy in ("jax.vmap", '"batch_size" of "jax.lax.map"'):
        assert remedy in told[one_by_one]
    assert "one by one" not in told[mapped] + told[several_in_an_iteration]
    listing = epl.parallelize(several_in_an_iteration, batch="x", devices=2).lower(w, x).as_text("global")
    assert f"f32[4/data, {WIDTH}]" in listing
