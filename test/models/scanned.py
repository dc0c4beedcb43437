"""Layers with stacked parameters under lax.scan, each rematerialized: MaxText's form."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

import epl
from models.model import Model, adam, normal, trained, weights

LAYERS, WIDTH = 4, 12


@jax.checkpoint
def block(x: jax.Array, layer: Any) -> tuple[jax.Array, None]:
    h = x - x.mean(-1, keepdims=True)
    h = h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5)
    return x + jax.nn.gelu(h @ layer["up"]) @ layer["down"], None


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        x, _ = jax.lax.scan(block, batch["x"] @ params["in"], params["layers"])
        return ((x - batch["y"]) ** 2).mean()


def build() -> Model:
    random = np.random.default_rng(0)
    layers = {"up": weights(random, LAYERS, WIDTH, 24), "down": weights(random, LAYERS, 24, WIDTH)}
    params = {"in": weights(random, 5, WIDTH), "layers": layers}
    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, 5), "y": normal(r, 8, WIDTH)})
