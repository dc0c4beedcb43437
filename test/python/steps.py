"""Training steps for one device, with scopes, that the tests run through EPL and through `jax.jit`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl

Step = Callable[..., Any]

Mistake = tuple[str, Callable[[], Any], str, Callable[[], Any]]
"""Its name, what makes it, a pattern of the error, and what the error says to do."""


def assert_what_the_error_says_works(case: Mistake) -> None:
    _, mistake, message, remedy = case
    with pytest.raises(epl.Error, match=message):
        mistake()
    remedy()


def mlp_parameters(sizes: tuple[int, ...] = (12, 32, 24, 10)) -> dict[str, jax.Array]:
    random = np.random.default_rng(0)
    parameters = {}
    for index, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        weights = random.normal(size=(rows, columns)) * np.sqrt(2 / rows)
        parameters[f"w{index}"] = jnp.asarray(weights, jnp.float32)
        parameters[f"b{index}"] = jnp.zeros(columns)
    return parameters


def mlp(parameters: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    depth = len(parameters) // 2
    for index in range(depth):
        x = x @ parameters[f"w{index}"] + parameters[f"b{index}"]
        x = jax.nn.relu(x) if index + 1 < depth else x
    return x


def mlp_loss(parameters: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    with epl.replicate():
        logits = mlp(parameters, x)
        return optax.softmax_cross_entropy(logits, jax.nn.one_hot(y, logits.shape[-1])).mean()


def training_step(optimizer: optax.GradientTransformation, loss: Step = mlp_loss) -> Step:
    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return step


def batches(count: int, size: int = 24, features: int = 12) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(1)
    return [
        (
            random.normal(size=(size, features)).astype(np.float32),
            random.integers(0, 10, size).astype(np.int32),
        )
        for _ in range(count)
    ]


def assert_close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Equal trees; elements within a tolerance of the largest one of their tensor."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        scale = np.abs(np.asarray(b, np.float64)).max(initial=1e-30)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=tolerance * scale)


def numbers(leaf: Any) -> np.ndarray:
    """The elements of an array, those of the data of a key."""
    array = jnp.asarray(leaf)
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_key else array)


def run(step: Step, state: tuple[Any, ...], batch: tuple[Any, ...], rounds: int) -> tuple[Any, list[Any]]:
    """The state after some calls with one batch, and what the calls return besides."""
    outputs = []
    for _ in range(rounds):
        results = step(*state, *batch)
        state, rest = results[: len(state)], results[len(state) :]
        outputs.append(rest)
    return state, outputs


def assert_agrees(
    step: Step, state: tuple[Any, ...], *batch: Any, rounds: int = 10, tolerance: float = 1e-5
) -> None:
    """A step of these states and this batch on one and on two devices beside `jax.jit`."""
    expected, expected_outputs = run(jax.jit(step), state, batch, rounds)
    states, batches = tuple(range(len(state))), tuple(range(len(state), len(state) + len(batch)))
    for devices in (1, 2):
        parallel = epl.parallelize(step, state=states, batch=batches, devices=devices)
        found, outputs = run(parallel, state, batch, rounds)
        assert_near(outputs, expected_outputs, tolerance)
        assert_near(found, expected, 10 * tolerance)


def assert_near(found: Any, expected: Any, tolerance: float) -> None:
    """Equal trees, shapes, dtypes; elements within a tolerance of their tensor's largest, or of 0.01.

    Where a gradient is 0 but for rounding (biases of keys), what Adam makes of it is rounding too. Integers
    and keys are equal.
    """
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = max(np.abs(numbers(b)).max(initial=0), 1e-2) if jnp.issubdtype(b.dtype, jnp.floating) else 0
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=0, atol=tolerance * scale)


def scale(state: Any, x: Any) -> Any:
    """A step whose state and loss depend on every sample."""
    with epl.replicate():
        return jax.tree.map(lambda leaf: leaf * 2 + x.mean(), state), (x * x).sum()


def assert_trains_as_jax(parallel: Any, step: Any, state: Any, x: Any, y: Any) -> None:
    """Three steps from one state give `jax.jit`'s losses and its state."""
    found, expected = state, state
    for _ in range(3):
        found, loss = parallel(found, x, y)
        expected, expected_loss = jax.jit(step)(expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-4)


def exchanged(local: str) -> dict[str, list[str]]:
    """The tensors, "8x4xf32", that each kind of collective of a local program takes, together or alone."""
    found: dict[str, list[str]] = {}
    kinds = "all_reduce|all_gather|reduce_scatter|all_to_all|permute|reduce|broadcast"
    for kind, operands in re.findall(rf"= epl\.({kinds})\b.*? : (.*?) -> ", local):
        found.setdefault(kind, []).extend(re.findall(r"tensor<(.*?)>", operands))
    return found
