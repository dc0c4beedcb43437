"""A perceptron with integer labels."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import optax

import epl
from models.model import Model, adam, integers, normal, trained, weights


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        x = batch["x"]
        for w in params[:-1]:
            x = jax.nn.relu(x @ w)
        return optax.softmax_cross_entropy_with_integer_labels(x @ params[-1], batch["y"]).mean()


def build() -> Model:
    random = np.random.default_rng(0)
    params = [weights(random, 12, 32), weights(random, 32, 24), weights(random, 24, 10)]
    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, 12), "y": integers(r, 10, 8)})
