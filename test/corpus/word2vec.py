"""word2vec (Mikolov et al., 2013): skip-grams beside negative samples drawn in the step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, integers, weights

WORDS, WIDTH, NEGATIVES = 40, 12, 5


def build(body: Scope, head: Scope) -> Model:
    random, optimizer = np.random.default_rng(0), optax.adagrad(0.1)
    params = {"in": weights(random, WORDS, WIDTH), "out": weights(random, WORDS, WIDTH)}
    counts = jnp.asarray(random.integers(1, 50, WORDS), jnp.float32)

    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        key, draw = jax.random.split(state["key"])

        def loss(p: Any) -> jax.Array:
            with body():
                center = p["in"][batch["center"]]
                near = p["out"][batch["context"]]
            with head():
                shape = (center.shape[0], NEGATIVES)
                drawn = jax.random.categorical(draw, 0.75 * jnp.log(counts), shape=shape)
                far = jnp.einsum("bd,bnd->bn", center, p["out"][drawn])
                scores = jax.nn.log_sigmoid((center * near).sum(-1)) + jax.nn.log_sigmoid(-far).sum(-1)
                return -scores.mean()

        value, gradients = jax.value_and_grad(loss)(state["params"])
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt, "key": key}, value

    state = {"params": params, "opt": optimizer.init(params), "key": jax.random.key(2)}
    batch = lambda r: {"center": integers(r, WORDS, 24), "context": integers(r, WORDS, 24)}  # noqa: E731
    return Model((step,), state, batch)
