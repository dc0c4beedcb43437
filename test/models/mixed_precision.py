"""Compute in bf16 with f32 parameters; a loss scale that grows, and halves where gradients overflow."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from models.model import Model, adam, integers, normal, weights


def build() -> Model:
    random = np.random.default_rng(0)
    optimizer = optax.apply_if_finite(adam(), max_consecutive_errors=3)
    params = [weights(random, 12, 32), weights(random, 32, 10)]

    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                w, v = (p.astype(jnp.bfloat16) for p in params)
                logits = jax.nn.relu(batch["x"].astype(jnp.bfloat16) @ w) @ v
                losses = optax.softmax_cross_entropy_with_integer_labels(
                    logits.astype(jnp.float32), batch["y"]
                )
                return losses.mean() * state["scale"]

        value, gradients = jax.value_and_grad(loss)(state["params"])
        gradients = jax.tree.map(lambda g: g / state["scale"], gradients)
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        finite = jnp.isfinite(optax.tree.norm(gradients))
        scale = jnp.where(finite, state["scale"] * 1.5, state["scale"] / 2)
        new = {"params": optax.apply_updates(state["params"], updates), "opt": opt, "scale": scale}
        return new, value / state["scale"]

    state = {"params": params, "opt": optimizer.init(params), "scale": jnp.float32(2.0**10)}
    # Chains of bf16 keep f32 between fused operations; JAX rounds after each.
    return Model((step,), state, lambda r: {"x": normal(r, 8, 12), "y": integers(r, 10, 8)}, tolerance=4e-3)
