"""A Gaussian process whose kernel is trained by the marginal likelihood of all samples together."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from models.model import Model, adam, normal, trained


def loss(params: Any, batch: Any) -> jax.Array:
    with epl.replicate():
        x = batch["x"] / jnp.exp(params["lengths"])
        distances = ((x[:, None] - x[None]) ** 2).sum(-1)
        kernel = jnp.exp(params["scale"] - 0.5 * distances)
        factor = jnp.linalg.cholesky(kernel + jnp.exp(params["noise"]) * jnp.eye(x.shape[0]))
        solved = jax.scipy.linalg.solve_triangular(factor, batch["y"] - params["mean"], lower=True)
        return 0.5 * (solved**2).sum() + jnp.log(jnp.diagonal(factor)).sum()


def build() -> Model:
    params = {
        "lengths": jnp.zeros(3),
        "scale": jnp.zeros(()),
        "noise": jnp.full((), -1.0),
        "mean": jnp.zeros(()),
    }

    def batch(random: np.random.Generator) -> Any:
        x = normal(random, 24, 3)
        return {"x": x, "y": np.sin(x.sum(-1)) + 0.1 * normal(random, 24)}

    return trained(loss, params, adam(), batch)
