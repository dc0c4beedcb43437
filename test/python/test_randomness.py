"""Random numbers are those of one device, bit for bit, however many devices share them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import numbers, run

X = np.random.default_rng(0).normal(size=(8, 12)).astype(np.float32)


def draw(key: jax.Array, x: jax.Array) -> dict[str, jax.Array]:
    """One sample of every kind. `x` is the batch, so that the devices share what has its shape."""
    with epl.replicate():
        keys = iter(jax.random.split(key, 16))
        bernoulli = jax.random.bernoulli(next(keys), 0.25, x.shape)
        return {
            "bits": jax.random.bits(next(keys), x.shape),
            "bytes": jax.random.bits(next(keys), x.shape, jnp.uint8),
            "uniform": jax.random.uniform(next(keys), x.shape),
            "normal": jax.random.normal(next(keys), x.shape),
            "bernoulli": bernoulli,
            "dropout": jnp.where(bernoulli, 4 * x, 0),
            "categorical": jax.random.categorical(next(keys), x),
            "integers": jax.random.randint(next(keys), x.shape, 0, 100),
            "gumbel": jax.random.gumbel(next(keys), x.shape),
            "truncated": jax.random.truncated_normal(next(keys), -1, 1, x.shape),
            "folded": jax.random.fold_in(next(keys), 3),
            "permutation": jax.random.permutation(next(keys), len(x)),
            "shuffled": jax.random.permutation(next(keys), x),
            "rows shuffled": jax.random.permutation(next(keys), x, axis=1, independent=True),
            "choice": jax.random.choice(next(keys), 20, (6,), replace=False),
            "choice by weight": jax.random.choice(
                next(keys), 12, (8,), p=jnp.abs(x[0]) / jnp.abs(x[0]).sum()
            ),
            "chosen rows": jax.random.choice(next(keys), x, (6,)),
            "of each": jax.vmap(lambda k, row: jax.random.uniform(k) * row)(jax.random.split(key, len(x)), x),
        }


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_samples_do_not_depend_on_the_devices(make: Any) -> None:
    key = make(5)
    expected = {name: numbers(value) for name, value in jax.jit(draw)(key, X).items()}
    one = epl.parallelize(draw, batch="x", devices=1)(key, X)
    for devices in (2, 4):
        found = epl.parallelize(draw, batch="x", devices=devices)(key, X)
        for name, value in one.items():
            np.testing.assert_array_equal(numbers(found[name]), numbers(value), err_msg=name)
    for name, value in one.items():
        # Those take logarithms and such, which differ from XLA's in their last bits.
        exact = name not in ("normal", "gumbel", "truncated")
        tolerance = 0 if exact else 5e-7 * np.abs(expected[name]).max()
        np.testing.assert_allclose(numbers(value), expected[name], rtol=0, atol=tolerance, err_msg=name)


def test_keys_as_states() -> None:
    def step(keys: dict[str, jax.Array], x: jax.Array) -> Any:
        with epl.replicate():
            carried, now = jax.random.split(keys["split"])
            noise = jax.random.uniform(now, x.shape) + jax.random.uniform(keys["folded"], x.shape)
        each = jax.vmap(jax.random.fold_in, (0, None))(keys["many"], 7)
        folded = jax.random.fold_in(keys["folded"], 3)
        return {"split": carried, "folded": folded, "many": each}, noise * x

    keys = {
        "split": jax.random.key(1),
        "folded": jax.random.PRNGKey(2),
        "many": jax.random.split(jax.random.key(3), 3),
    }
    expected = run(jax.jit(step), (keys,), (X,), 4)
    for devices in (1, 2, 4):
        found = run(epl.parallelize(step, state=0, batch=1, devices=devices), (keys,), (X,), 4)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(numbers(a), numbers(b))
