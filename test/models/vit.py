"""A vision transformer: patches, a class token, pre-norm blocks, mean over none but the class."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp

from models.model import Model, classifier

WIDTH = 16


class ViT(nn.Module):
    """Logits of 8x8 images, cut into patches of 2x2."""

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        count = images.shape[0]
        patches = images.reshape(count, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(count, 16, 4)
        first = self.param("class", nn.initializers.normal(0.02), (1, 1, WIDTH))
        x = jnp.concatenate([jnp.tile(first, (count, 1, 1)), nn.Dense(WIDTH)(patches)], axis=1)
        x = x + self.param("positions", nn.initializers.normal(0.02), (1, 17, WIDTH))
        for _ in range(2):
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
            x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
        return nn.Dense(10)(nn.LayerNorm()(x)[:, 0])


def build() -> Model:
    return classifier(ViT(), 8, 8)
