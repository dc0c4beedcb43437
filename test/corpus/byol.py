"""BYOL (Grill et al., 2020): one network predicts what a slow copy of it makes of another view."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, normal, weights

WIDTH, HIDDEN, PROJECTED = 10, 24, 8


def unit(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def build(body: Scope, head: Scope) -> Model:
    random, optimizer = np.random.default_rng(0), adam()
    network = {"w1": weights(random, WIDTH, HIDDEN), "w2": weights(random, HIDDEN, PROJECTED)}
    params = {"network": network, "predict": weights(random, PROJECTED, PROJECTED)}

    def project(p: Any, x: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ p["w1"]) @ p["w2"]

    def view(key: jax.Array, x: jax.Array) -> jax.Array:
        of_noise, of_mask = jax.random.split(key)
        shown = jax.random.bernoulli(of_mask, 0.8, x.shape)
        return jnp.where(shown, x + 0.1 * jax.random.normal(of_noise, x.shape), 0.0)

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        key, *views = jax.random.split(state["key"], 3)

        def loss(p: Any) -> jax.Array:
            with body():
                seen = [view(k, x) for k in views]
                found = [project(p["network"], v) for v in seen]
                target = [jax.lax.stop_gradient(project(state["slow"], v)) for v in seen]
            with head():
                pairs = zip(found, reversed(target), strict=True)
                return sum((2 - 2 * (unit(a @ p["predict"]) * unit(b)).sum(-1)).mean() for a, b in pairs)

        value, gradients = jax.value_and_grad(loss)(state["params"])
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        slow = optax.incremental_update(params["network"], state["slow"], 0.05)
        return {"params": params, "slow": slow, "opt": opt, "key": key}, value

    state = {"params": params, "slow": network, "opt": optimizer.init(params), "key": jax.random.key(5)}
    return Model((step,), state, lambda r: normal(r, 24, WIDTH))
