"""A mixture of experts where every expert sees every token and the gate weighs them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from models.model import Model, adam, normal, trained, weights


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        x = batch["x"]
        gate = jax.nn.softmax(x @ params["gate"])
        hidden = jax.nn.gelu(jnp.einsum("bd,edh->beh", x, params["up"]))
        outputs = jnp.einsum("beh,ehd->bed", hidden, params["down"])
        found = jnp.einsum("bed,be->bd", outputs, gate)
        balance = (gate.mean(axis=0) ** 2).sum()
        return ((found - batch["y"]) ** 2).mean() + 0.1 * balance


def build() -> Model:
    random = np.random.default_rng(0)
    params = {
        "gate": weights(random, 8, 4),
        "up": weights(random, 4, 8, 16),
        "down": weights(random, 4, 16, 8),
    }
    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, 8), "y": normal(r, 8, 8)})
