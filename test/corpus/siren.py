"""A SIREN (Sitzmann et al., 2020) for Poisson's equation: the Laplacian within, values at the border."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from corpus.layouts import Scope
from models.model import Model, adam, normal, trained, weights

HIDDEN = 16


def network(p: Any, z: jax.Array) -> jax.Array:
    for w, b in p[:-1]:
        z = jnp.sin(2 * (z @ w + b))
    w, b = p[-1]
    return (z @ w + b)[0]


def laplacian(p: Any, z: jax.Array) -> jax.Array:
    u = functools.partial(network, p)

    def second(direction: jax.Array) -> jax.Array:
        return jax.jvp(lambda y: jax.jvp(u, (y,), (direction,))[1], (z,), (direction,))[1]

    return second(jnp.array([1.0, 0.0])) + second(jnp.array([0.0, 1.0]))


def build(body: Scope, head: Scope) -> Model:
    random = np.random.default_rng(0)
    sizes = ((2, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1))
    params = [(weights(random, *size), jnp.zeros(size[1])) for size in sizes]

    def loss(p: Any, batch: Any) -> jax.Array:
        with body():
            source = jnp.sin(batch["inside"]).prod(-1)
            residual = jax.vmap(functools.partial(laplacian, p))(batch["inside"]) - source
            within = (residual**2).mean()
        with head():
            values = jax.vmap(functools.partial(network, p))(batch["border"])
            return 0.1 * within + (values**2).mean()

    batch = lambda r: {"inside": normal(r, 24, 2), "border": normal(r, 24, 2)}  # noqa: E731
    return trained(loss, params, adam(), batch)
