"""What micro-batches stand beside: batches of several lengths, whole ones, colocated scopes, constraints."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import assert_near


def data(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype("f") for shape in shapes]


def assert_same(step: Any, arguments: list[Any], count: int, devices: int, **options: Any) -> Any:
    """Compares a step in micro-batches with `jax.jit`; what was compiled."""
    config = {"pipeline.num_micro_batch": count, **options.pop("config", {})}
    made = epl.parallelize(step, devices=devices, config=config, **options)
    assert_near(made(*arguments), jax.jit(step)(*arguments), 1e-5)
    return made.lower(*arguments).compile()


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_each_batch_is_cut_by_its_own_length(count: int, devices: int) -> None:
    """Two losses, of labelled and of unlabelled samples."""

    def step(w: jax.Array, x: jax.Array, y: jax.Array, more: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            return ((x @ w - y) ** 2).mean() + 0.1 * jnp.abs(jnp.tanh(more @ w)).mean()

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    arguments = data((5, 3), (8, 5), (8, 3), (48, 5))
    assert_same(step, arguments, count, devices, state="w", batch=("x", "y", "more"))


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_a_batch_without_an_axis_is_whole_in_each_micro_batch(count: int, devices: int) -> None:
    """Samples on the nodes of a graph, whose edges are the same for all."""

    def step(w: jax.Array, x: jax.Array, edges: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            messages = (x @ w)[:, edges[:, 0]]
            received = jnp.zeros_like(x @ w).at[:, edges[:, 1]].add(messages)
            return (jnp.tanh(received) ** 2).mean()

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    w, x = data((5, 3), (8, 6, 5))
    edges = np.random.default_rng(1).integers(0, 6, (10, 2)).astype("i")
    assert_same(step, [w, x, edges], count, devices, state="w", batch={"x": 0, "edges": None})


def test_indices_into_another_batch_are_refused() -> None:
    def step(w: jax.Array, nodes: jax.Array, edges: jax.Array) -> jax.Array:
        h = jnp.tanh(nodes @ w)
        return h[edges].sum()

    made = epl.parallelize(step, batch=("nodes", "edges"), devices=1, config={"pipeline.num_micro_batch": 2})
    lines, first = inspect.getsourcelines(step)
    line = first + next(number for number, text in enumerate(lines) if "h[edges]" in text)
    with pytest.raises(epl.CompileError, match="mixes samples across micro-batches") as error:
        made.lower(*data((5, 3), (8, 5)), np.zeros(12, "i")).compile()
    assert str(error.value).startswith(f"{__file__}:{line}: ")


@pytest.mark.parametrize(("count", "devices"), [(2, 2), (4, 2), (2, 4), (4, 4)])
def test_colocated_scopes(count: int, devices: int) -> None:
    def step(w: jax.Array, head: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        def loss(w: jax.Array, head: jax.Array) -> jax.Array:
            with epl.replicate():
                h = jnp.tanh(x @ w)
            with epl.split(device_count=2):
                logits = jax.nn.log_softmax(h @ head)
                return -jnp.take_along_axis(logits, y[:, None], axis=1).mean()

        value, gradients = jax.value_and_grad(loss, argnums=(0, 1))(w, head)
        return w - 0.1 * gradients[0], head - 0.1 * gradients[1], value

    w, head, x = data((5, 8), (8, 16), (16, 5))
    y = np.random.default_rng(1).integers(0, 16, 16).astype("i")
    config = {"cluster.colocate_split_and_replicate": True}
    options: dict[str, Any] = {"state": ("w", "head"), "batch": ("x", "y"), "config": config}
    assert "model 2" in assert_same(step, [w, head, x, y], count, devices, **options).layout


@pytest.mark.parametrize(("count", "devices"), [(2, 2), (4, 2), (2, 4)])
def test_constraints_are_of_a_micro_batch(count: int, devices: int) -> None:
    """Of an activation with samples, of a parameter, and of one without samples."""

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            with epl.split(device_count=2):
                scaled = epl.constrain(w * 2, {1: "model"})
                h = epl.constrain(jnp.tanh(x @ scaled), {None: "model"})
                return (epl.constrain(h, {0: "data"}) ** 2).mean()

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    compiled = assert_same(step, data((6, 8), (16, 6)), count, devices, state="w", batch="x")
    assert compiled.layout.endswith(f"{count} micro-batches")
