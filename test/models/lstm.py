"""A LSTM over a sequence, by flax's scan over time."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

import epl
from models.model import Model, adam, normal, trained

LENGTH = 6


class Network(nn.Module):
    """One number from a sequence of vectors."""

    cell: type[nn.RNNCellBase]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(1)(nn.RNN(self.cell(8))(x)[:, -1])[:, 0]


def build(cell: type[nn.RNNCellBase] = nn.OptimizedLSTMCell) -> Model:
    model = Network(cell)
    params = model.init(jax.random.key(0), jnp.zeros((1, LENGTH, 5)))

    def loss(params: Any, batch: Any) -> jax.Array:
        with epl.replicate():
            return ((model.apply(params, batch["x"]) - batch["y"]) ** 2).mean()

    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, LENGTH, 5), "y": normal(r, 8)})
