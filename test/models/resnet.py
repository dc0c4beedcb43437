"""Residual blocks with batch normalization: statistics of the batch, or of each micro-batch."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

import epl
from models.model import Model, adam, integers, normal


class Block(nn.Module):
    """Two convolutions round a residual, which a third one brings to a smaller size."""

    features: int
    stride: int

    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        h = nn.Conv(self.features, (3, 3), self.stride, use_bias=False)(x)
        h = nn.relu(nn.BatchNorm(not train)(h))
        h = nn.BatchNorm(not train)(nn.Conv(self.features, (3, 3), use_bias=False)(h))
        if self.stride != 1:
            x = nn.Conv(self.features, (1, 1), self.stride)(x)
        return nn.relu(x + h)


class ResNet(nn.Module):
    """Logits of 8x8 images with three channels."""

    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        x = nn.max_pool(nn.Conv(4, (3, 3))(x), (3, 3), (2, 2), "SAME")
        x = Block(8, 2)(Block(4, 1)(x, train), train)
        return nn.Dense(10)(x.mean(axis=(1, 2)))


def differentiated(params: Any, stats: Any, batch: Any) -> Any:
    """The loss and the new statistics, and gradients."""

    def loss(params: Any) -> tuple[jax.Array, Any]:
        with epl.replicate(), epl.per_micro_batch():
            variables = {"params": params, "batch_stats": stats}
            logits, new = ResNet().apply(variables, batch["x"], train=True, mutable=["batch_stats"])
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"])
            return losses.mean(), new["batch_stats"]

    return jax.value_and_grad(loss, has_aux=True)(params)


def updated(state: Any, gradients: Any, stats: Any) -> Any:
    """The state after a step."""
    updates, opt = adam().update(gradients, state["opt"], state["params"])
    return {"params": optax.apply_updates(state["params"], updates), "stats": stats, "opt": opt}


def step(state: Any, batch: Any) -> tuple[Any, Any]:
    """Trains on a batch."""
    (value, stats), gradients = differentiated(state["params"], state["stats"], batch)
    return updated(state, gradients, stats), value


def build() -> Model:
    variables = ResNet().init(jax.random.key(0), jnp.zeros((1, 8, 8, 3)), train=False)
    params = variables["params"]
    state = {"params": params, "stats": variables["batch_stats"], "opt": adam().init(params)}
    return Model((step,), state, lambda r: {"x": normal(r, 8, 8, 8, 3), "y": integers(r, 10, 8)})
