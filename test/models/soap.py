"""SOAP (Vyas et al., 2024): Adam in the eigenbasis of Shampoo's matrices, which a QR iteration follows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from models.model import Model, normal, weights

RATE, DECAY, SECOND, EPSILON = 0.02, 0.9, 0.95, 1e-3


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        found = jax.nn.gelu(batch["x"] @ params["w1"]) @ params["w2"]
        return ((found - batch["y"]) ** 2).mean()


def first(w: jax.Array) -> dict[str, jax.Array]:
    """What is kept for a parameter."""
    m, n = w.shape
    return {
        "rows": jnp.diag(1.0 + jnp.arange(m) / m),
        "columns": jnp.diag(1.0 + jnp.arange(n) / n),
        "left": jnp.eye(m),
        "right": jnp.eye(n),
        "mean": jnp.zeros((m, n)),
        "square": jnp.zeros((m, n)),
    }


def update(w: jax.Array, g: jax.Array, kept: dict[str, jax.Array]) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The next parameter and what is kept for it."""
    rows = SECOND * kept["rows"] + (1 - SECOND) * g @ g.T
    columns = SECOND * kept["columns"] + (1 - SECOND) * g.T @ g
    left, _ = jnp.linalg.qr(rows @ kept["left"])
    right, _ = jnp.linalg.qr(columns @ kept["right"])
    rotated = left.T @ g @ right
    mean = DECAY * kept["mean"] + (1 - DECAY) * g
    square = SECOND * kept["square"] + (1 - SECOND) * rotated**2
    direction = left @ ((left.T @ mean @ right) / (jnp.sqrt(square) + EPSILON)) @ right.T
    matrices = {"rows": rows, "columns": columns, "left": left, "right": right}
    return w - RATE * direction, {**matrices, "mean": mean, "square": square}


def step(state: Any, batch: Any) -> tuple[Any, jax.Array]:
    value, gradients = jax.value_and_grad(loss)(state["params"], batch)
    params, kept = {}, {}
    for name, w in state["params"].items():
        params[name], kept[name] = update(w, gradients[name], state["kept"][name])
    return {"params": params, "kept": kept}, value


def build() -> Model:
    random = np.random.default_rng(0)
    params = {"w1": weights(random, 5, 9), "w2": weights(random, 9, 3)}
    state = {"params": params, "kept": {name: first(w) for name, w in params.items()}}
    return Model((step,), state, lambda r: {"x": normal(r, 8, 5), "y": normal(r, 8, 3)}, tolerance=1e-4)
