"""VQ-VAE (van den Oord et al., 2017): the nearest code, straight through; how often codes are used."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, normal, weights

SEEN, HIDDEN, WIDTH, CODES = 10, 24, 6, 16


def build(body: Scope, head: Scope) -> Model:
    random, optimizer = np.random.default_rng(0), adam()
    params = {
        "encoder": [weights(random, SEEN, HIDDEN), weights(random, HIDDEN, WIDTH)],
        "codes": weights(random, CODES, WIDTH),
        "decoder": [weights(random, WIDTH, HIDDEN), weights(random, HIDDEN, SEEN)],
    }

    def perceptron(layers: list[jax.Array], x: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ layers[0]) @ layers[1]

    def loss(p: Any, x: Any) -> tuple[jax.Array, jax.Array]:
        with body():
            z = perceptron(p["encoder"], x)
            far = (z * z).sum(-1, keepdims=True) - 2 * z @ p["codes"].T + (p["codes"] ** 2).sum(-1)
            nearest = far.argmin(-1)
            code = p["codes"][nearest]
            learned = ((jax.lax.stop_gradient(z) - code) ** 2).mean()
            committed = ((z - jax.lax.stop_gradient(code)) ** 2).mean()
            through = z + jax.lax.stop_gradient(code - z)
        with head():
            error = ((perceptron(p["decoder"], through) - x) ** 2).mean()
            uses = jnp.zeros(CODES).at[nearest].add(1.0)
            return error + learned + 0.25 * committed, uses

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        (value, uses), gradients = jax.value_and_grad(loss, has_aux=True)(state["params"], x)
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "opt": opt, "uses": state["uses"] + uses}, value

    state = {"params": params, "opt": optimizer.init(params), "uses": jnp.zeros(CODES)}
    return Model((step,), state, lambda r: normal(r, 24, SEEN))
