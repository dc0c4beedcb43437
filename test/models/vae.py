"""A variational autoencoder: samples drawn inside the step, the key is state."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, adam, normal, weights


def build() -> Model:
    random, optimizer = np.random.default_rng(0), adam()
    params = {"encoder": weights(random, 12, 8), "decoder": weights(random, 4, 12)}

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        key, draw = jax.random.split(state["key"])

        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                mean, log_variance = jnp.split(x @ params["encoder"], 2, axis=-1)
                z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(draw, mean.shape)
                error = optax.sigmoid_binary_cross_entropy(z @ params["decoder"], jax.nn.sigmoid(x)).sum(-1)
                divergence = -0.5 * (1 + log_variance - mean**2 - jnp.exp(log_variance)).sum(-1)
                return (error + divergence).mean()

        value, gradients = jax.value_and_grad(loss)(state["params"])
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt, "key": key}, value

    state = {"params": params, "opt": optimizer.init(params), "key": jax.random.key(1)}
    return Model((step,), state, lambda r: normal(r, 8, 12))
