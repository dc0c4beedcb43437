"""A neural ODE (Chen et al., 2018) with Runge and Kutta's fixed steps, in a loop, its flow of two layers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, integers, normal, trained, weights

WIDTH, HIDDEN, STEPS, CLASSES = 8, 16, 6, 4


def flow(p: Any, t: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ p["w1"] + t * p["time"]) @ p["w2"]


def solve(p: Any, x: jax.Array) -> jax.Array:
    h = 1 / STEPS

    def iteration(x: jax.Array, t: jax.Array) -> tuple[jax.Array, None]:
        a = flow(p, t, x)
        b = flow(p, t + h / 2, x + h / 2 * a)
        c = flow(p, t + h / 2, x + h / 2 * b)
        d = flow(p, t + h, x + h * c)
        return x + h / 6 * (a + 2 * b + 2 * c + d), None

    return jax.lax.scan(iteration, x, jnp.arange(STEPS) * h)[0]


def build(body: Scope, head: Scope) -> Model:
    random = np.random.default_rng(0)
    params = {
        "flow": {
            "w1": weights(random, WIDTH, HIDDEN),
            "time": weights(random, 1, HIDDEN)[0],
            "w2": weights(random, HIDDEN, WIDTH),
        },
        "out": weights(random, WIDTH, CLASSES),
    }

    def loss(p: Any, batch: Any) -> jax.Array:
        with body():
            x = solve(p["flow"], batch["x"])
        with head():
            return optax.softmax_cross_entropy_with_integer_labels(x @ p["out"], batch["y"]).mean()

    batch = lambda r: {"x": normal(r, 24, WIDTH), "y": integers(r, CLASSES, 24)}  # noqa: E731
    return trained(loss, params, adam(), batch)
