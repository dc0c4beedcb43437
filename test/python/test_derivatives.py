"""Losses that are made of derivatives, in forward and reverse mode, with respect to inputs and parameters."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import assert_near

SPACE = jnp.array([1.0, 0.0])  # the direction of it; time is the other coordinate


def parameters(hidden: int = 16) -> list[tuple[jax.Array, jax.Array]]:
    random = np.random.default_rng(0)
    sizes = ((2, hidden), (hidden, hidden), (hidden, 1))
    return [(jnp.asarray(random.normal(0, 0.5, size), jnp.float32), jnp.zeros(size[1])) for size in sizes]


def network(p: Any, z: jax.Array) -> jax.Array:
    for w, b in p[:-1]:
        z = jnp.tanh(z @ w + b)
    return (z @ p[-1][0])[0]


def residual(p: Any, z: jax.Array) -> jax.Array:
    """Of the heat equation: one derivative by `grad`, a second one by `jvp` of `jvp`."""

    def slope(y: jax.Array) -> jax.Array:
        return jax.jvp(functools.partial(network, p), (y,), (SPACE,))[1]

    return jax.grad(network, 1)(p, z)[1] - 0.1 * jax.jvp(slope, (z,), (SPACE,))[1]


def step(p: Any, inside: jax.Array, border: jax.Array) -> tuple[Any, jax.Array]:
    def loss(p: Any) -> jax.Array:
        with epl.replicate():
            within = (jax.vmap(functools.partial(residual, p))(inside) ** 2).mean()
        with epl.split(2):
            values = jax.vmap(functools.partial(network, p))(border)
            return within + ((values - border[:, 0]) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(p)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, gradients), value


@pytest.mark.parametrize("colocate", [True, False])
def test_a_network_for_an_equation(colocate: bool) -> None:
    random = np.random.default_rng(1)
    inside = random.normal(size=(16, 2)).astype(np.float32)
    border = random.normal(size=(8, 2)).astype(np.float32)
    config = {"cluster.colocate_split_and_replicate": colocate}
    devices = 2 if colocate else 3
    parallel = epl.parallelize(step, state="p", batch="inside", devices=devices, config=config)
    found, expected = parameters(), parameters()
    for _ in range(3):
        found, loss = parallel(found, inside, border)
        expected, expected_loss = jax.jit(step)(expected, inside, border)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-4)
