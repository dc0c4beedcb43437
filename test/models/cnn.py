"""A small convolutional network: three convolutions, max and average pooling."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

import epl
from models.model import Model, adam, integers, normal, trained


class CNN(nn.Module):
    """Logits of 12x12 images with one channel."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.max_pool(nn.relu(nn.Conv(4, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.avg_pool(nn.relu(nn.Conv(6, (3, 3), strides=2)(x)), (3, 3), (1, 1), "SAME")
        x = nn.relu(nn.Conv(8, (3, 3), padding="VALID")(x))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


def build() -> Model:
    model = CNN()
    params = model.init(jax.random.key(0), jnp.zeros((1, 12, 12, 1)))

    def loss(params: Any, batch: Any) -> jax.Array:
        with epl.replicate():
            logits = model.apply(params, batch["x"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()

    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, 12, 12, 1), "y": integers(r, 10, 8)})
