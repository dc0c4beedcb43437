"""Loops of a step in micro-batches: each micro-batch does them as a whole, and they stay loops."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near
from test_models import train


def in_micro_batches(step: Callable[..., Any], count: int, devices: int, **options: Any) -> Any:
    config = {"pipeline.num_micro_batch": count, **options.pop("config", {})}
    return epl.parallelize(step, devices=devices, config=config, **options)


def loops(text: str) -> set[str]:
    """The loops that a program has, as it writes them."""
    return set(re.findall(r"epl\.loop_\w+ (<.*?>+) ", text))


@pytest.mark.parametrize("name", ["gru", "lstm", "scanned"])
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_models_with_loops_train_as_jax_does(name: str, count: int, devices: int) -> None:
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    steps = [in_micro_batches(s, count, devices, state="state", batch=1) for s in model.steps]
    found, losses = train(model, steps)
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(found, expected, 10 * model.tolerance)


LENGTH = 200


def recurrent(w: jax.Array, x: jax.Array, length: int = LENGTH) -> tuple[jax.Array, jax.Array]:
    """A recurrence that takes a step of every sample at a time, with its gradient."""

    def loss(w: jax.Array) -> jax.Array:
        def cell(h: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(h @ w + x * jnp.sin(t))
            return h, (h**2).mean(axis=1)

        _, squares = jax.lax.scan(cell, jnp.zeros_like(x), jnp.arange(float(length)))
        return squares.mean()

    value, gradient = jax.value_and_grad(loss)(w)
    return w - 0.1 * gradient, value


@pytest.mark.parametrize("devices", [1, 2])
def test_code_does_not_grow_with_the_length_of_a_loop(devices: int) -> None:
    def lower(count: int, length: int) -> Any:
        def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            return recurrent(w, x, length)

        made = in_micro_batches(step, count, devices, state="w", batch="x")
        return made.lower(jnp.ones((6, 6)), jnp.ones((8, 6)))

    def size(count: int, length: int) -> tuple[int, ...]:
        """The tasks, launches and kernels, and the lines of the program."""
        text = lower(count, length).as_text("kernel")
        return (
            *(text.count(name) for name in ("epl.task ", "epl.launch @", "epl.kernel @")),
            text.count("\n"),
        )

    assert size(4, 50) == size(4, LENGTH)
    assert size(4, LENGTH) < tuple(1.5 * number for number in size(1, LENGTH))


@pytest.mark.parametrize(("count", "devices"), [(4, 1), (4, 2)])
def test_a_recurrence_of_many_steps(count: int, devices: int) -> None:
    random = np.random.default_rng(0)
    w, x = random.normal(size=(6, 6)).astype("f") * 0.3, random.normal(size=(8, 6)).astype("f")
    made = in_micro_batches(recurrent, count, devices, state="w", batch="x")
    assert_near(made(w, x), jax.jit(recurrent)(w, x), 1e-4)
    text = made.lower(w, x).as_text("local")
    assert loops(text) == {
        "<2, trip_count = 4, micro_batches = true>",
        "<3, trip_count = 200 in <2, trip_count = 4, micro_batches = true>>",
        "<4, trip_count = 200 in <2, trip_count = 4, micro_batches = true>>",
    }


def counted(w: jax.Array, key: jax.Array, x: jax.Array) -> Any:
    """Whole numbers: layers with dropout, a count that is the same for all samples, results of all kinds."""

    def layer(carried: Any, own: Any) -> Any:
        h, count = carried
        number, key = own
        kept = jax.random.bernoulli(key, 0.5, h.shape)
        h = jnp.where(kept, h, 0) @ w % 5 + number
        return (h, count + number), (h.sum(), h[:, 0], count * 2)

    keys = jax.random.split(key, 60)
    (h, count), stacks = jax.lax.scan(layer, (x, jnp.float32(1)), (jnp.arange(60.0) % 3, keys))
    return w + h.sum(axis=0) % 3, count, h * count, *stacks


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_whole_numbers_are_bit_equal(count: int, devices: int) -> None:
    random = np.random.default_rng(0)
    w, x = random.integers(-4, 5, (6, 6)).astype("f"), random.integers(-4, 5, (8, 6)).astype("f")
    key = jax.random.key(3)
    made = in_micro_batches(counted, count, devices, state="w", batch="x")
    for found, expected in zip(made(w, key, x), jax.jit(counted)(w, key, x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert any(" in <" in loop for loop in loops(made.lower(w, key, x).as_text("local")))


def masked(params: Any, key: jax.Array, x: jax.Array, mask: jax.Array) -> Any:
    """Layers with dropout by a key that they carry and the step returns; a mean over samples that count."""

    def layer(carried: Any, own: jax.Array) -> tuple[Any, None]:
        h, key = carried
        key, drop = jax.random.split(key)
        h = h + jax.nn.gelu(h @ own)
        return (jnp.where(jax.random.bernoulli(drop, 0.9, h.shape), h / 0.9, 0), key), None

    def loss(params: Any) -> tuple[jax.Array, jax.Array]:
        (h, last), _ = jax.lax.scan(layer, (x, key), params)
        return ((h**2).mean(axis=1) * mask).sum() / mask.sum(), last

    (value, last), gradients = jax.value_and_grad(loss, has_aux=True)(params)
    norm = jnp.sqrt((gradients**2).sum())
    return params - 0.1 * gradients / (1 + norm), value, jax.random.key_data(last)


@pytest.mark.parametrize("options", [{}, {"zero.level": "v3"}, {"gradient_checkpoint.type": "auto"}])
@pytest.mark.parametrize(("count", "devices"), [(4, 1), (4, 2)])
def test_dropout_in_layers(count: int, devices: int, options: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    params, x = random.normal(size=(24, 8, 8)).astype("f") * 0.2, random.normal(size=(16, 8)).astype("f")
    mask, key = (random.random(16) < 0.7).astype("f"), jax.random.key(0)
    made = in_micro_batches(masked, count, devices, state="params", batch=("x", "mask"), config=options)
    assert_near(made(params, key, x, mask), jax.jit(masked)(params, key, x, mask), 1e-4)
    assert sum(" in <" in loop for loop in loops(made.lower(params, key, x, mask).as_text("local"))) == 2


def layers_loss(params: Any, x: jax.Array) -> jax.Array:
    """Two stages, each with layers under a scan, beside one without."""

    def layer(h: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        h = h + jnp.tanh(h @ w)
        return h / jnp.sqrt((h * h).mean(-1, keepdims=True) + 1e-5), None

    with epl.replicate(name="first"):
        h, _ = jax.lax.scan(layer, x @ params["in"], params["first"])
    with epl.replicate(name="second"):
        h, _ = jax.lax.scan(layer, h, params["second"])
        return ((h @ params["out"]) ** 2).mean()


def layers_step(params: Any, state: Any, x: jax.Array) -> Any:
    optimizer = optax.adam(1e-2)
    value, gradients = jax.value_and_grad(layers_loss)(params, x)
    updates, state = optimizer.update(gradients, state)
    return optax.apply_updates(params, updates), state, value


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "zb-h1"])
@pytest.mark.parametrize("devices", [2, 4])
def test_stages_of_a_pipeline_with_layers_under_a_scan(schedule: str, devices: int) -> None:
    random = np.random.default_rng(0)
    shapes = {"in": (5, 8), "first": (24, 8, 8), "second": (24, 8, 8), "out": (8, 3)}
    params = {name: random.normal(size=shape).astype("f") * 0.3 for name, shape in shapes.items()}
    config = {"pipeline.num_stages": 2, "pipeline.strategy": schedule}
    made = in_micro_batches(layers_step, 4, devices, state=("params", "state"), batch="x", config=config)
    found = expected = (params, optax.adam(1e-2).init(params))
    for _ in range(2):
        x = random.normal(size=(16, 5)).astype("f")
        *found, loss = made(*found, x)
        *expected, expected_loss = jax.jit(layers_step)(*expected, x)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-4)
    text = made.lower(params, optax.adam(1e-2).init(params), x).as_text("local")
    assert sum(" in <" in loop for loop in loops(text)) == 4


@pytest.mark.parametrize("options", [{"zero.level": "v1"}, {"zero.level": "v3"}])
def test_states_of_layers_are_shared(options: dict[str, Any]) -> None:
    model = importlib.import_module("models.scanned").build()
    expected, _ = train(model, [jax.jit(step) for step in model.steps])
    steps = [in_micro_batches(s, 2, 2, state="state", batch=1, config=options) for s in model.steps]
    assert_near(train(model, steps)[0], expected, 10 * model.tolerance)


def largest(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Iterations that complete a maximum over all samples: no micro-batch can do them alone."""

    def layer(carried: Any, _: None) -> tuple[Any, None]:
        h, most = carried
        h = (h @ w) % 5
        return (h, jnp.maximum(most, h.max())), None

    (h, most), _ = jax.lax.scan(layer, (x, jnp.float32(0)), None, length=60)
    return w + h.sum(axis=0) % 3, most


def test_a_loop_that_completes_sums_over_samples_is_unrolled() -> None:
    random = np.random.default_rng(0)
    w, x = random.integers(-4, 5, (6, 6)).astype("f"), random.integers(-4, 5, (8, 6)).astype("f")
    made = in_micro_batches(largest, 2, 2, state="w", batch="x")
    for found, expected in zip(made(w, x), jax.jit(largest)(w, x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert loops(made.lower(w, x).as_text("local")) == {"<0, trip_count = 2, micro_batches = true>"}
