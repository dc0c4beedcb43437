"""RealNVP (Dinh et al., 2017): a normalizing flow of affine couplings, trained by its likelihood."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from corpus.layouts import Scope
from models.model import Model, adam, normal, trained, weights

WIDTH, HIDDEN, COUPLINGS = 6, 16, 4


def couple(p: Any, x: jax.Array, flip: bool) -> tuple[jax.Array, jax.Array]:
    """One half moved by what the other half says, and the logarithm of the determinant."""
    kept, moved = jnp.split(x, 2, axis=-1)[:: -1 if flip else 1]
    h = jax.nn.relu(kept @ p["w1"] + p["b1"])
    scale, shift = jnp.split(h @ p["w2"] + p["b2"], 2, axis=-1)
    scale = jnp.tanh(scale)
    moved = moved * jnp.exp(scale) + shift
    return jnp.concatenate([moved, kept] if flip else [kept, moved], axis=-1), scale.sum(-1)


def build(body: Scope, head: Scope) -> Model:
    random = np.random.default_rng(0)

    def coupling() -> dict[str, jax.Array]:
        first, second = weights(random, WIDTH // 2, HIDDEN), weights(random, HIDDEN, WIDTH)
        return {"w1": first, "b1": jnp.zeros(HIDDEN), "w2": 0.1 * second, "b2": jnp.zeros(WIDTH)}

    def loss(params: Any, x: Any) -> jax.Array:
        with body():
            total = jnp.zeros(x.shape[0])
            for index, p in enumerate(params):
                x, volume = couple(p, x, index % 2 == 1)
                total = total + volume
        with head():
            prior = jax.scipy.stats.norm.logpdf(x).sum(-1)
            return -(prior + total).mean()

    params = [coupling() for _ in range(COUPLINGS)]
    return trained(loss, params, adam(), lambda r: normal(r, 24, WIDTH))
