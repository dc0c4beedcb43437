"""Residual blocks with batch normalization, whose statistics are those of the global batch."""

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


def build() -> Model:
    model, optimizer = ResNet(), adam()
    variables = model.init(jax.random.key(0), jnp.zeros((1, 8, 8, 3)), train=False)

    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        def loss(params: Any) -> tuple[jax.Array, Any]:
            with epl.replicate():
                variables = {"params": params, "batch_stats": state["stats"]}
                logits, new = model.apply(variables, batch["x"], train=True, mutable=["batch_stats"])
                losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"])
                return losses.mean(), new["batch_stats"]

        (value, stats), gradients = jax.value_and_grad(loss, has_aux=True)(state["params"])
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "stats": stats, "opt": opt}, value

    params = variables["params"]
    state = {"params": params, "stats": variables["batch_stats"], "opt": optimizer.init(params)}
    return Model((step,), state, lambda r: {"x": normal(r, 8, 8, 8, 3), "y": integers(r, 10, 8)})
