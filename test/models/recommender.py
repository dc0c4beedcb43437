"""DLRM: bags of embeddings, their products with dense features, a perceptron on top."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, adam, integers, normal, trained, weights

TABLES, ROWS, BAG, WIDTH = 3, 40, 4, 8


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        dense = jax.nn.relu(batch["dense"] @ params["bottom"])
        bags = [table[batch["sparse"][:, i]].sum(axis=1) for i, table in enumerate(params["tables"])]
        vectors = jnp.stack([dense, *bags], axis=1)
        products = jnp.einsum("bid,bjd->bij", vectors, vectors)
        rows, columns = np.tril_indices(TABLES + 1, -1)
        x = jnp.concatenate([dense, products[:, rows, columns]], axis=1)
        logits = (x @ params["top"])[:, 0]
        return optax.sigmoid_binary_cross_entropy(logits, batch["click"]).mean()


def build() -> Model:
    random = np.random.default_rng(0)
    params = {
        "tables": [weights(random, ROWS, WIDTH) for _ in range(TABLES)],
        "bottom": weights(random, 5, WIDTH),
        "top": weights(random, WIDTH + TABLES * (TABLES + 1) // 2, 1),
    }

    def batch(random: np.random.Generator) -> Any:
        click = integers(random, 2, 8).astype(np.float32)
        return {
            "dense": normal(random, 8, 5),
            "sparse": integers(random, ROWS, 8, TABLES, BAG),
            "click": click,
        }

    return trained(loss, params, adam(), batch)
