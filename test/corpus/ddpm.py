"""DDPM (Ho et al., 2020): noise predicted at random times, with an average of the parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, normal, weights

WIDTH, HIDDEN, TIMES, WAVES = 8, 24, 50, 8


def embed(t: jax.Array) -> jax.Array:
    """Sines and cosines of the times."""
    angles = t[:, None] * jnp.exp(-jnp.arange(WAVES) * (jnp.log(1000.0) / WAVES))
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


def build(body: Scope, head: Scope) -> Model:
    random, optimizer = np.random.default_rng(0), adam()
    kept = jnp.cumprod(1 - jnp.linspace(1e-4, 0.05, TIMES))
    params = {
        "x": weights(random, WIDTH, HIDDEN),
        "time": weights(random, 2 * WAVES, HIDDEN),
        "up": weights(random, HIDDEN, 2 * HIDDEN),
        "down": weights(random, 2 * HIDDEN, HIDDEN),
        "out": weights(random, HIDDEN, WIDTH),
    }

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        key, of_time, of_noise = jax.random.split(state["key"], 3)

        def loss(p: Any) -> jax.Array:
            with body():
                t = jax.random.randint(of_time, (x.shape[0],), 0, TIMES)
                noise = jax.random.normal(of_noise, x.shape)
                part = kept[t][:, None]
                mixed = jnp.sqrt(part) * x + jnp.sqrt(1 - part) * noise
                h = jax.nn.silu(mixed @ p["x"] + embed(t.astype(jnp.float32)) @ p["time"])
                h = h + jax.nn.silu(h @ p["up"]) @ p["down"]
            with head():
                return ((h @ p["out"] - noise) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(state["params"])
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        average = jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, state["average"], params)
        return {"params": params, "average": average, "opt": opt, "key": key}, value

    state = {"params": params, "average": params, "opt": optimizer.init(params), "key": jax.random.key(3)}
    return Model((step,), state, lambda r: normal(r, 24, WIDTH))
