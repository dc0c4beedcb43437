"""An autoencoder in flax nnx, whose module and optimizer are written in place inside the step."""

from __future__ import annotations

from typing import Any

import jax
import optax
from flax import nnx

import epl
from models.model import Model, adam, normal


class Autoencoder(nnx.Module):
    """Twelve numbers through three and back."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.encoder = nnx.Linear(12, 3, rngs=rngs)
        self.decoder = nnx.Linear(3, 12, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.decoder(nnx.tanh(self.encoder(x)))


def build() -> Model:
    model = Autoencoder(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, adam(), wrt=nnx.Param)
    graph, state = nnx.split((model, optimizer))

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        model, optimizer = nnx.merge(graph, state)

        def loss(model: Autoencoder) -> jax.Array:
            with epl.replicate():
                return optax.l2_loss(model(x), x).mean()

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer)), value

    return Model((step,), state, lambda r: normal(r, 8, 12))
