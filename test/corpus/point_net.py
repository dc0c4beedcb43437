"""PointNet (Qi et al., 2017): points aligned by a predicted matrix, shared layers, the maximum of a set."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, integers, normal, trained, weights

POINTS, CLASSES = 10, 4


def pool(layers: list[jax.Array], x: jax.Array) -> jax.Array:
    for w in layers:
        x = jax.nn.relu(x @ w)
    return x.max(axis=1)


def build(body: Scope, head: Scope) -> Model:
    random = np.random.default_rng(0)
    params = {
        "align": [weights(random, 3, 8), weights(random, 8, 16)],
        "matrix": 0.1 * weights(random, 16, 9),
        "points": [weights(random, 3, 12), weights(random, 12, 24)],
        "out": weights(random, 24, CLASSES),
    }

    def loss(p: Any, batch: Any) -> jax.Array:
        with body():
            x = batch["x"]
            matrix = (pool(p["align"], x) @ p["matrix"]).reshape(-1, 3, 3) + jnp.eye(3)
            features = pool(p["points"], x @ matrix)
            skew = jnp.eye(3) - matrix @ jnp.swapaxes(matrix, 1, 2)
        with head():
            logits = features @ p["out"]
            likely = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()
            return likely + 1e-2 * (skew**2).sum((1, 2)).mean()

    batch = lambda r: {"x": normal(r, 24, POINTS, 3), "y": integers(r, CLASSES, 24)}  # noqa: E731
    return trained(loss, params, adam(), batch)
