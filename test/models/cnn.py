"""A small convolutional network: three convolutions, max and average pooling."""

from __future__ import annotations

import flax.linen as nn
import jax

from models.model import Model, classifier


class CNN(nn.Module):
    """Logits of 12x12 images with one channel."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.max_pool(nn.relu(nn.Conv(4, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.avg_pool(nn.relu(nn.Conv(6, (3, 3), strides=2)(x)), (3, 3), (1, 1), "SAME")
        x = nn.relu(nn.Conv(8, (3, 3), padding="VALID")(x))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


def build() -> Model:
    return classifier(CNN(), 12, 12, 1)
