"""An encoder-decoder transformer: padded source, shifted target, shared embedding, label smoothing."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, adam, integers, trained

WIDTH, HEADS, VOCABULARY = 16, 2, 29


class Layer(nn.Module):
    """Attention to itself, to what was encoded if there is any, and a perceptron."""

    @nn.compact
    def __call__(self, x: jax.Array, mask: Any, encoded: Any = None, encoded_mask: Any = None) -> jax.Array:
        x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(HEADS)(x, mask=mask))
        if encoded is not None:
            x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(HEADS)(x, encoded, mask=encoded_mask))
        return nn.LayerNorm()(x + nn.Dense(WIDTH)(nn.relu(nn.Dense(2 * WIDTH)(x))))


class Translator(nn.Module):
    """Logits of every target token from the source and the target so far; token 0 is padding."""

    @nn.compact
    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        embed = nn.Embed(VOCABULARY, WIDTH)
        seen = nn.make_attention_mask(source > 0, source > 0)
        encoded = Layer()(embed(source), seen)
        causal = nn.combine_masks(nn.make_causal_mask(target), nn.make_attention_mask(target > 0, target > 0))
        x = Layer()(embed(target), causal, encoded, nn.make_attention_mask(target > 0, source > 0))
        return embed.attend(x)


def build() -> Model:
    model = Translator()
    params = model.init(jax.random.key(0), jnp.ones((1, 9), jnp.int32), jnp.ones((1, 7), jnp.int32))

    def loss(params: Any, batch: Any) -> jax.Array:
        with epl.replicate():
            target, wanted = batch["target"][:, :-1], batch["target"][:, 1:]
            labels = optax.smooth_labels(jax.nn.one_hot(wanted, VOCABULARY), 0.1)
            losses = optax.softmax_cross_entropy(model.apply(params, batch["source"], target), labels)
            return (losses * (wanted > 0)).sum() / (wanted > 0).sum()

    def batch(random: np.random.Generator) -> Any:
        source, target = integers(random, VOCABULARY, 8, 9), integers(random, VOCABULARY, 8, 8)
        source[:, 0] = target[:, 0] = target[:, 1] = 1
        return {"source": source, "target": target}

    return trained(loss, params, adam(), batch)
