"""Depthwise separable convolutions with dilation, and global average pooling."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

import epl
from models.model import Model, adam, integers, normal, trained


class Depthwise(nn.Module):
    """Logits of 8x8 images with four channels."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for features, dilation in ((8, 1), (12, 2)):
            channels = x.shape[-1]
            x = nn.Conv(channels, (3, 3), feature_group_count=channels, kernel_dilation=dilation)(x)
            x = nn.silu(nn.Conv(features, (1, 1))(x))
        return nn.Dense(10)(x.mean(axis=(1, 2)))


def build() -> Model:
    model = Depthwise()
    params = model.init(jax.random.key(0), jnp.zeros((1, 8, 8, 4)))

    def loss(params: Any, batch: Any) -> jax.Array:
        with epl.replicate():
            logits = model.apply(params, batch["x"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()

    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, 8, 8, 4), "y": integers(r, 10, 8)})
