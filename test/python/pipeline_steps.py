"""Training steps of several scopes: stages of a pipeline where these have devices of their own."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl


def stages(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """A product for each of `ws`, each on a device of its own."""

    def loss(ws: list[jax.Array]) -> jax.Array:
        h = x
        for index, w in enumerate(ws):
            with epl.replicate(name=f"stage{index}"):
                h = jnp.tanh(h @ w)
                if index == len(ws) - 1:
                    return (h * h).sum()
        raise AssertionError("no stage")

    value, gradients = jax.value_and_grad(loss)(ws)
    return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value


def deep(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """Five products in each stage."""

    def loss(ws: list[jax.Array]) -> jax.Array:
        h = x
        for begin in range(0, len(ws), 5):
            with epl.replicate(name=f"stage{begin // 5}"):
                for w in ws[begin : begin + 5]:
                    h = jnp.tanh(h @ w)
                if begin + 5 == len(ws):
                    return (h * h).sum()
        raise AssertionError("no stage")

    value, gradients = jax.value_and_grad(loss)(ws)
    return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value


def skipping(readers: Container[int], reads: str = "last") -> Any:
    """A step like that of `stages`. The stages `readers` read what the first one makes, too, first or last
    of all."""

    def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(ws: list[jax.Array]) -> jax.Array:
            h = first = x
            for index, w in enumerate(ws):
                with epl.replicate(name=f"stage{index}"):
                    if index in readers:
                        h = jnp.tanh(first @ w) * (h @ w) if reads == "first" else jnp.tanh(h @ w) + first
                    else:
                        h = jnp.tanh(h @ w)
                    first = h if index == 0 else first
                    if index == len(ws) - 1:
                        return (h * h).sum()
            raise AssertionError("no stage")

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value

    return step


def staged(ws: list[jax.Array], x: jax.Array, key: jax.Array, whole: bool) -> Any:
    """A stage for each of `ws`: dropout, a residual over all stages, the first weight used again in the last
    one, a result for each sample and a maximum; of whole numbers, or with roots and means."""

    def loss(ws: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
        h = x
        for index, w in enumerate(ws):
            with epl.replicate(name=f"stage{index}"):
                kept = jax.random.bernoulli(jax.random.fold_in(key, index), 0.7, h.shape)
                h = jnp.where(kept, h, 0) @ w
                h = h if whole else jnp.tanh(h * 0.3)
                if index == len(ws) - 1:
                    h = (h + x) @ ws[0]
                    return (h * x).sum() if whole else (h * h).mean(), h
        raise AssertionError("no stage")

    (value, h), gradients = jax.value_and_grad(loss, has_aux=True)(ws)
    rate = 1 if whole else 0.1
    ws = [w - rate * g for w, g in zip(ws, gradients, strict=True)]
    return ws, value, h.max(axis=1), jnp.abs(h).max()


def integers(ws: list[jax.Array], x: jax.Array, key: jax.Array) -> Any:
    """The stages of `staged` on whole numbers."""
    return staged(ws, x, key, whole=True)


def whole_numbers(stages: int, samples: int) -> tuple[list[np.ndarray], np.ndarray, jax.Array]:
    random = np.random.default_rng(0)
    ws = [random.integers(-1, 2, (5, 5)).astype("f") for _ in range(stages)]
    return ws, random.integers(-2, 3, (samples, 5)).astype("f"), jax.random.key(3)
