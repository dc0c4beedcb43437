"""Shampoo (Gupta et al., 2018): gradients between inverse fourth roots of sums of their outer products."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from models.model import Model, integers, normal, weights

RATE, DAMPING = 0.05, 1e-2


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        hidden = jnp.tanh(batch["x"] @ params["w1"])
        logits = jax.nn.log_softmax(hidden @ params["w2"])
        return -jnp.take_along_axis(logits, batch["y"][:, None], 1).mean()


def inverse_root(a: jax.Array, power: int) -> jax.Array:
    """The inverse of a root of a symmetric matrix."""
    values, vectors = jnp.linalg.eigh(a)
    return (vectors * jnp.maximum(values, DAMPING) ** (-1 / power)) @ vectors.T


def step(state: Any, batch: Any) -> tuple[Any, jax.Array]:
    value, gradients = jax.value_and_grad(loss)(state["params"], batch)
    rows = jax.tree.map(lambda s, g: s + g @ g.T, state["rows"], gradients)
    columns = jax.tree.map(lambda s, g: s + g.T @ g, state["columns"], gradients)
    params = jax.tree.map(
        lambda w, g, left, right: w - RATE * inverse_root(left, 4) @ g @ inverse_root(right, 4),
        *(state["params"], gradients, rows, columns),
    )
    return {"params": params, "rows": rows, "columns": columns}, value


def build() -> Model:
    random = np.random.default_rng(0)
    params = {"w1": weights(random, 6, 11), "w2": weights(random, 11, 5)}
    rows = jax.tree.map(lambda w: DAMPING * jnp.eye(w.shape[0]), params)
    columns = jax.tree.map(lambda w: DAMPING * jnp.eye(w.shape[1]), params)
    state = {"params": params, "rows": rows, "columns": columns}
    return Model((step,), state, lambda r: {"x": normal(r, 8, 6), "y": integers(r, 5, 8)}, tolerance=1e-4)
