"""Two networks against each other: two steps with two optimizers on one state."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, adam, normal, weights


def generate(params: Any, noise: jax.Array) -> jax.Array:
    return jnp.tanh(jax.nn.relu(noise @ params["in"]) @ params["out"])


def judge(params: Any, x: jax.Array) -> jax.Array:
    return (jax.nn.leaky_relu(x @ params["in"]) @ params["out"])[:, 0]


def build() -> Model:
    random, optimizer = np.random.default_rng(0), adam()
    generator = {"in": weights(random, 4, 16), "out": weights(random, 16, 6)}
    critic = {"in": weights(random, 6, 16), "out": weights(random, 16, 1)}

    def update(state: Any, who: str, loss: Any) -> tuple[Any, Any]:
        value, gradients = jax.value_and_grad(loss)(state[who])
        updates, opt = optimizer.update(gradients, state[who + "_opt"], state[who])
        return {**state, who: optax.apply_updates(state[who], updates), who + "_opt": opt}, value

    def critic_step(state: Any, batch: Any) -> tuple[Any, Any]:
        def loss(critic: Any) -> jax.Array:
            with epl.replicate():
                fake = judge(critic, generate(state["generator"], batch["noise"]))
                real = judge(critic, batch["real"])
                return jax.nn.softplus(fake).mean() + jax.nn.softplus(-real).mean()

        return update(state, "critic", loss)

    def generator_step(state: Any, batch: Any) -> tuple[Any, Any]:
        def loss(generator: Any) -> jax.Array:
            with epl.replicate():
                return jax.nn.softplus(-judge(state["critic"], generate(generator, batch["noise"]))).mean()

        return update(state, "generator", loss)

    state = {
        "generator": generator,
        "generator_opt": optimizer.init(generator),
        "critic": critic,
        "critic_opt": optimizer.init(critic),
    }
    batch = lambda r: {"noise": normal(r, 8, 4), "real": normal(r, 8, 6)}  # noqa: E731  # one line says it
    return Model((critic_step, generator_step), state, batch)
