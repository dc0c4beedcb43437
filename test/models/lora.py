"""Low-rank adapters beside frozen parameters: the optimizer holds state for the adapters only."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, integers, normal, trained, weights


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        x = batch["x"]
        for frozen, adapter in zip(params["frozen"], params["adapters"], strict=True):
            x = jnp.tanh(x @ frozen + (x @ adapter["a"]) @ adapter["b"] * 2.0)
        return optax.softmax_cross_entropy_with_integer_labels(x, batch["y"]).mean()


def build() -> Model:
    random = np.random.default_rng(0)
    params = {
        "frozen": [weights(random, 12, 12) for _ in range(3)],
        "adapters": [{"a": weights(random, 12, 2), "b": jnp.zeros((2, 12))} for _ in range(3)],
    }
    labels = {"frozen": "freeze", "adapters": "train"}
    optimizer = optax.multi_transform(
        {"train": optax.adamw(1e-2, eps=1e-2), "freeze": optax.set_to_zero()}, labels
    )
    return trained(loss, params, optimizer, lambda r: {"x": normal(r, 8, 12), "y": integers(r, 12, 8)})
