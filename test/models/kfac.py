"""K-FAC (Martens and Grosse, 2015): gradients solved by Kronecker factors of layers' Fisher matrices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from models.model import Model, integers, normal, weights

RATE, DECAY, DAMPING = 0.1, 0.9, 0.1


def loss(params: Any, probes: Any, batch: Any) -> tuple[jax.Array, list[jax.Array]]:
    """Also what each layer reads. Probes are zeros that are added to what layers make."""
    with epl.replicate():
        hidden = jnp.tanh(batch["x"] @ params[0] + probes[0])
        logits = jax.nn.log_softmax(hidden @ params[1] + probes[1])
        return -jnp.take_along_axis(logits, batch["y"][:, None], 1).mean(), [batch["x"], hidden]


def solve(w: jax.Array, gradient: jax.Array, read: jax.Array, made: jax.Array) -> jax.Array:
    """The next weights."""
    left = jax.scipy.linalg.cho_factor(read + DAMPING * jnp.eye(read.shape[0]), lower=True)
    right = jax.scipy.linalg.cho_factor(made + DAMPING * jnp.eye(made.shape[0]), lower=True)
    return w - RATE * jax.scipy.linalg.cho_solve(right, jax.scipy.linalg.cho_solve(left, gradient).T).T


def step(state: Any, batch: Any) -> tuple[Any, jax.Array]:
    params, samples = state["params"], batch["x"].shape[0]
    probes = [jnp.zeros((samples, w.shape[1])) for w in params]
    gradient = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    (value, inputs), (gradients, errors) = gradient(params, probes, batch)
    with epl.replicate():
        read = [
            DECAY * s + (1 - DECAY) * a.T @ a / samples for s, a in zip(state["read"], inputs, strict=True)
        ]
        made = [
            DECAY * s + (1 - DECAY) * e.T @ e * samples for s, e in zip(state["made"], errors, strict=True)
        ]
    params = [solve(*layer) for layer in zip(params, gradients, read, made, strict=True)]
    return {"params": params, "read": read, "made": made}, value


def build() -> Model:
    random = np.random.default_rng(0)
    params = [weights(random, 6, 12), weights(random, 12, 5)]
    read, made = [jnp.eye(w.shape[0]) for w in params], [jnp.eye(w.shape[1]) for w in params]
    state = {"params": params, "read": read, "made": made}
    return Model((step,), state, lambda r: {"x": normal(r, 8, 6), "y": integers(r, 5, 8)})
