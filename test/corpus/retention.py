"""RetNet (Sun et al., 2023): heads of linear attention that decays, normalized by head, gated."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, integers, trained, weights

WORDS, LENGTH, WIDTH, HEADS, LAYERS = 20, 8, 16, 2, 2


def decay() -> jax.Array:
    """What is left of each position at each later one, by head."""
    apart = jnp.arange(LENGTH)[:, None] - jnp.arange(LENGTH)[None, :]
    rates = 1 - 2.0 ** (-2 - jnp.arange(HEADS, dtype=jnp.float32))
    return jnp.where(apart >= 0, rates[:, None, None] ** jnp.maximum(apart, 0), 0.0)


def normalized(x: jax.Array) -> jax.Array:
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)


def retain(p: Any, x: jax.Array) -> jax.Array:
    def heads(w: jax.Array) -> jax.Array:
        return (x @ w).reshape(*x.shape[:2], HEADS, -1)

    scores = jnp.einsum("bihd,bjhd->bhij", heads(p["q"]), heads(p["k"])) * decay() / 4
    mixed = normalized(jnp.einsum("bhij,bjhd->bihd", scores, heads(p["v"])))
    return (jax.nn.silu(x @ p["gate"]) * mixed.reshape(x.shape)) @ p["out"]


def build(body: Scope, head: Scope) -> Model:
    random = np.random.default_rng(0)

    def layer() -> dict[str, jax.Array]:
        square = {name: weights(random, WIDTH, WIDTH) for name in ("q", "k", "v", "gate", "out")}
        return {**square, "up": weights(random, WIDTH, 32), "down": weights(random, 32, WIDTH)}

    params = {
        "embed": weights(random, WORDS, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "head": weights(random, WIDTH, WORDS),
    }

    def loss(p: Any, tokens: Any) -> jax.Array:
        with body():
            x = p["embed"][tokens[:, :-1]]
            for layer in p["layers"]:
                x = x + retain(layer, normalized(x))
                x = x + jax.nn.gelu(normalized(x) @ layer["up"]) @ layer["down"]
        with head():
            logits = normalized(x) @ p["head"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    model = trained(loss, params, adam(), lambda r: integers(r, WORDS, 12, LENGTH + 1))
    # The first position's heads are one value times a score, which may be small and is normalized away: of
    # the gradient through that, jax.jit itself has 4 digits (6e-5 off from its f64).
    return dataclasses.replace(model, tolerance=1e-4)
