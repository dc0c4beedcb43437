"""A mixture of experts with top-k routing: tokens are scattered to the slots of their experts and back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from models.model import Model, adam, normal, trained, weights

EXPERTS, CHOSEN, WIDTH = 4, 2, 8


def mixture(params: Any, x: jax.Array) -> jax.Array:
    """Every expert has room for all tokens, so that none is dropped."""
    tokens = x.shape[0]
    scores, experts = jax.lax.top_k(jax.nn.softmax(x @ params["gate"]), CHOSEN)
    slots = jnp.zeros((EXPERTS, tokens, WIDTH))
    index = jnp.broadcast_to(jnp.arange(tokens)[:, None], experts.shape)
    slots = slots.at[experts, index].add(x[:, None, :] * scores[..., None])
    hidden = jax.nn.relu(jnp.einsum("etd,edh->eth", slots, params["up"]))
    outputs = jnp.einsum("eth,ehd->etd", hidden, params["down"])
    return outputs[experts, index].sum(axis=1)


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        return ((mixture(params, batch["x"]) - batch["y"]) ** 2).mean()


def build() -> Model:
    random = np.random.default_rng(0)
    params = {
        "gate": weights(random, WIDTH, EXPERTS),
        "up": weights(random, EXPERTS, WIDTH, 16),
        "down": weights(random, EXPERTS, 16, WIDTH),
    }
    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, WIDTH), "y": normal(r, 8, WIDTH)})
