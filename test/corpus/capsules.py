"""Capsules with dynamic routing (Sabour et al., 2017): votes, three rounds of agreement, the margin loss."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from corpus.layouts import Scope
from models.model import Model, adam, integers, normal, trained, weights

SEEN, CAPSULES, WIDTH, CLASSES, ROUNDS = 12, 6, 4, 3, 3


def squash(x: jax.Array) -> jax.Array:
    length = (x * x).sum(-1, keepdims=True)
    return x * (length / (1 + length) * jax.lax.rsqrt(length + 1e-7))


def route(votes: jax.Array) -> jax.Array:
    """The capsules of each class, from votes of samples, capsules, classes, elements."""
    logits = jnp.zeros(votes.shape[:-1])
    for iteration in range(ROUNDS):
        shares = jax.nn.softmax(logits, axis=-1)
        found = squash((shares[..., None] * votes).sum(1))
        if iteration + 1 < ROUNDS:
            logits = logits + jax.lax.stop_gradient((votes * found[:, None]).sum(-1))
    return found


def build(body: Scope, head: Scope) -> Model:
    random = np.random.default_rng(0)
    params = {
        "primary": weights(random, SEEN, CAPSULES * WIDTH),
        "votes": weights(random, CAPSULES, CLASSES, WIDTH, 8),
    }

    def loss(p: Any, batch: Any) -> jax.Array:
        with body():
            primary = squash((batch["x"] @ p["primary"]).reshape(-1, CAPSULES, WIDTH))
            votes = jnp.einsum("bcw,ckwd->bckd", primary, p["votes"])
        with head():
            lengths = jnp.sqrt((route(votes) ** 2).sum(-1) + 1e-7)
            right = jax.nn.one_hot(batch["y"], CLASSES)
            present = right * jnp.maximum(0, 0.9 - lengths) ** 2
            absent = 0.5 * (1 - right) * jnp.maximum(0, lengths - 0.1) ** 2
            return (present + absent).sum(-1).mean()

    batch = lambda r: {"x": normal(r, 24, SEEN), "y": integers(r, CLASSES, 24)}  # noqa: E731
    return trained(loss, params, adam(), batch)
