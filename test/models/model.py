"""What every file of this folder makes: state, batches, and the steps that train on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl

Step = Callable[[Any, Any], tuple[Any, Any]]  # (state, batch) -> (state, loss or metrics)
Loss = Callable[[Any, Any], jax.Array]  # (parameters, batch) -> loss


@dataclass(frozen=True)
class Model:
    """Steps on one state, called in turn with the same batch.

    Args:
      steps: each takes and returns the state, a tree of arrays.
      state: the first one.
      batch: makes one from a random number generator; samples along dimension 0 of every leaf.
      tolerance: of losses, relative to JAX's; a larger one says why.
    """

    steps: tuple[Step, ...]
    state: Any
    batch: Callable[[np.random.Generator], Any]
    tolerance: float = 1e-5


def trained(
    loss: Loss,
    params: Any,
    optimizer: optax.GradientTransformation,
    batch: Callable[[np.random.Generator], Any],
) -> Model:
    """A model with one step: the optimizer's update by the gradient of the loss."""

    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        value, gradients = jax.value_and_grad(loss)(state["params"], batch)
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt}, value

    return Model((step,), {"params": params, "opt": optimizer.init(params)}, batch)


def weights(random: np.random.Generator, *shape: int) -> jax.Array:
    """Normal weights, scaled by the square root of what they sum over."""
    return jnp.asarray(random.normal(0, shape[-2] ** -0.5, shape), jnp.float32)


def normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Normal samples, f32."""
    return random.normal(size=shape).astype(np.float32)


def integers(random: np.random.Generator, high: int, *shape: int) -> np.ndarray:
    """Integers below `high`, i32."""
    return random.integers(0, high, shape).astype(np.int32)


def adam() -> optax.GradientTransformation:
    """Adam whose epsilon keeps updates of parameters without gradient from being the sign of rounding."""
    return optax.adam(1e-3, eps=1e-2)


def classifier(network: Any, *shape: int) -> Model:
    """A flax network that tells ten classes of images of a shape."""
    params = network.init(jax.random.key(0), jnp.zeros((1, *shape)))

    def loss(params: Any, batch: Any) -> jax.Array:
        with epl.replicate():
            logits = network.apply(params, batch["x"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()

    return trained(loss, params, adam(), lambda r: {"x": normal(r, 8, *shape), "y": integers(r, 10, 8)})
