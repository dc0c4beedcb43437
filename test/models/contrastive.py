"""A contrastive loss over all pairs of the batch: every sample meets every other one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, adam, normal, trained, weights


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        left, right = batch["left"] @ params["left"], batch["right"] @ params["right"]
        left = left / jnp.linalg.norm(left, axis=-1, keepdims=True)
        right = right / jnp.linalg.norm(right, axis=-1, keepdims=True)
        logits = left @ right.T * jnp.exp(params["scale"])
        labels = jnp.arange(logits.shape[0])
        rows = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        columns = optax.softmax_cross_entropy_with_integer_labels(logits.T, labels)
        return (rows + columns).mean() / 2


def build() -> Model:
    random = np.random.default_rng(0)
    params = {"left": weights(random, 12, 6), "right": weights(random, 10, 6), "scale": jnp.float32(1.0)}
    return trained(loss, params, adam(), lambda r: {"left": normal(r, 8, 12), "right": normal(r, 8, 10)})
