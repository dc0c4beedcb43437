"""Double DQN (van Hasselt et al., 2016): a target network that is copied every second step, Huber's loss."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.layouts import Scope
from models.model import Model, adam, integers, normal, weights

SEEN, HIDDEN, ACTIONS, DISCOUNT = 6, 24, 4, 0.95


def build(body: Scope, head: Scope) -> Model:
    random, optimizer = np.random.default_rng(0), optax.chain(optax.clip_by_global_norm(1.0), adam())
    params = {
        "w1": weights(random, SEEN, HIDDEN),
        "b1": jnp.zeros(HIDDEN),
        "value": weights(random, HIDDEN, 1),
        "advantage": weights(random, HIDDEN, ACTIONS),
    }

    def hidden(p: Any, x: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ p["w1"] + p["b1"])

    def values(p: Any, h: jax.Array) -> jax.Array:
        advantage = h @ p["advantage"]
        return h @ p["value"] + advantage - advantage.mean(-1, keepdims=True)

    def loss(p: Any, target: Any, batch: Any) -> jax.Array:
        with body():
            now, then = hidden(p, batch["seen"]), hidden(p, batch["next"])
            target_then = hidden(target, batch["next"])
        with head():
            rows = jnp.arange(now.shape[0])
            best = values(p, then).argmax(-1)
            reached = (
                batch["reward"] + DISCOUNT * (1 - batch["ends"]) * values(target, target_then)[rows, best]
            )
            taken = values(p, now)[rows, batch["action"]]
            return optax.huber_loss(taken, jax.lax.stop_gradient(reached)).mean()

    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        value, gradients = jax.value_and_grad(loss)(state["params"], state["target"], batch)
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        params, count = optax.apply_updates(state["params"], updates), state["count"] + 1
        target = optax.periodic_update(params, state["target"], count, 2)
        return {"params": params, "target": target, "opt": opt, "count": count}, value

    def batch(r: np.random.Generator) -> Any:
        ends = (r.random(24) < 0.2).astype(np.float32)
        seen = {"seen": normal(r, 24, SEEN), "next": normal(r, 24, SEEN)}
        return {**seen, "action": integers(r, ACTIONS, 24), "reward": normal(r, 24), "ends": ends}

    state = {"params": params, "target": params, "opt": optimizer.init(params), "count": jnp.int32(0)}
    return Model((step,), state, batch)
