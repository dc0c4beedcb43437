"""MLP-Mixer (Tolstikhin et al., 2021) in flax: perceptrons over patches and over channels in turn."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from corpus.layouts import Scope
from models.model import Model, integers, normal, trained

CLASSES = 6


class Perceptron(nn.Module):
    """Two layers back to the width that came."""

    hidden: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(self.hidden)(x)))


class Mixer(nn.Module):
    """Tokens of patches, mixed twice."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.Conv(16, (4, 4), strides=(4, 4))(x)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        for _ in range(2):
            y = jnp.swapaxes(nn.LayerNorm()(x), 1, 2)
            x = x + jnp.swapaxes(Perceptron(8)(y), 1, 2)
            x = x + Perceptron(32)(nn.LayerNorm()(x))
        return nn.LayerNorm()(x).mean(axis=1)


def build(body: Scope, head: Scope) -> Model:
    mixer, last = Mixer(), nn.Dense(CLASSES)
    params = {
        "mixer": mixer.init(jax.random.key(0), jnp.zeros((1, 8, 8, 3))),
        "last": last.init(jax.random.key(1), jnp.zeros((1, 16))),
    }

    def loss(p: Any, batch: Any) -> jax.Array:
        with body():
            x = mixer.apply(p["mixer"], batch["x"])
        with head():
            logits = last.apply(p["last"], x)
            labels = optax.smooth_labels(jax.nn.one_hot(batch["y"], CLASSES), 0.1)
            return optax.softmax_cross_entropy(logits, labels).mean()

    batch = lambda r: {"x": normal(r, 12, 8, 8, 3), "y": integers(r, CLASSES, 12)}  # noqa: E731
    return trained(loss, params, optax.adamw(1e-3, eps=1e-2), batch)
