"""`epl.per_micro_batch` beside loops and in their iterations: each micro-batch does such a loop whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import assert_near
from test_micro_batch_statistics import data, in_turn, normalize
from test_nested_loops import loops

LAYERS = 40
Made = tuple[Any, set[str]]  # what a step returns, the loops of the program


def run(step: Callable[..., Any], count: int, devices: int, *values: Any, **config: Any) -> Made:
    """`step` of statistics, parameters and batches."""
    batches = tuple(range(2, len(values)))
    config = {"pipeline.num_micro_batch": count, **config}
    made = epl.parallelize(step, state=0, batch=batches, devices=devices, config=config)
    return made(*values), loops(made.lower(*values).as_text("local"))


def is_nested(found: set[str], number: int, count: int) -> bool:
    """Whether the micro-batches do loops, so many, and there are no others."""
    outer = [loop for loop in found if " in <" not in loop]
    return len(found) == 1 + number and len(outer) == 1 and f"trip_count = {count}, micro" in outer[0]


def differentiated(loss: Callable[..., Any], stats: Any, params: Any, x: Any, y: Any) -> Any:
    (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(params, stats, x, y)
    return new, gradients, value


def stem(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """Batch normalization, then layers under a scan."""

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        with epl.per_micro_batch():
            h, new = normalize(x, params, stats)
        h, _ = jax.lax.scan(lambda h, w: (h + 0.1 * jnp.tanh(h @ w), None), h, params["w"])
        return ((h - y) ** 2).mean(), new

    return differentiated(loss, stats, params, x, y)


def recurrence(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """A recurrence behind the loop whose result is normalized, and one over what is normalized."""

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        h, _ = jax.lax.scan(lambda h, w: (h + 0.1 * jnp.tanh(h @ w), None), x, params["w"])
        with epl.per_micro_batch():
            h, new = normalize(h, params, stats)

        def cell(state: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
            state = jnp.tanh(0.5 * state + h * jnp.sin(t))
            return state, state.mean(axis=1)

        _, means = jax.lax.scan(cell, jnp.zeros_like(h), jnp.arange(50.0))
        return ((means[-1][:, None] - y) ** 2).mean(), new

    return differentiated(loss, stats, params, x, y)


def normalized_layer(params: Any, h: jax.Array, own: Any) -> tuple[jax.Array, Any]:
    """One with a batch normalization, of which `own` has the weight and the running statistics."""
    w, stats = own
    with epl.per_micro_batch():
        made, new = normalize(h @ w, params, stats)
    return h + 0.1 * jnp.tanh(made), new


def layers(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """Layers under a scan, each with a batch normalization, whose running statistics are stacked."""

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        h, new = jax.lax.scan(partial(normalized_layer, params), x, (params["w"], stats))
        return ((h - y) ** 2).mean(), new

    return differentiated(loss, stats, params, x, y)


def recomputed(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """The same, the whole step in the scope, with layers that the backward loop does again."""

    def layer(params: Any, h: jax.Array, own: Any) -> tuple[jax.Array, Any]:
        w, stats = own
        made, new = normalize(h @ w, params, stats)
        return h + 0.1 * jnp.tanh(made), new

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        own = (params["w"], stats)
        h, new = jax.lax.scan(lambda h, own: jax.checkpoint(layer)(params, h, own), x, own)
        return ((h - y) ** 2).mean(), new

    with epl.per_micro_batch():
        return differentiated(loss, stats, params, x, y)


def updated_at_once(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """The loop stacks the statistics of each layer; all running ones are updated behind it."""

    def layer(h: jax.Array, w: jax.Array) -> tuple[jax.Array, Any]:
        with epl.per_micro_batch():
            made = h @ w
            mean, square = made.mean(axis=0), (made * made).mean(axis=0)
            made = (made - mean) * jax.lax.rsqrt(square - mean * mean + 1e-2)
        return h + 0.1 * jnp.tanh(made), (mean, square)

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        h, (mean, square) = jax.lax.scan(layer, x, params["w"])
        with epl.per_micro_batch():
            new = {
                "mean": 0.9 * stats["mean"] + 0.1 * mean,
                "var": 0.9 * stats["var"] + 0.1 * (square - mean * mean),
            }
        return ((h - y) ** 2).mean(), new

    return differentiated(loss, stats, params, x, y)


STEPS = {
    stem: ((6,), 2),
    recurrence: ((6,), 4),
    layers: ((LAYERS, 6), 2),
    recomputed: ((LAYERS, 6), 2),
    updated_at_once: ((LAYERS, 6), 2),
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_loops_stay_loops(step: Any, count: int, devices: int) -> None:
    shape, number = STEPS[step]
    w, scale, shift, mean, var, x, y = data(0, (LAYERS, 6, 6), (6,), (6,), shape, shape, (24, 6), (24, 6))
    params, stats = {"w": w * 0.3, "scale": scale, "shift": shift}, {"mean": mean, "var": var**2}
    found, text = run(step, count, devices, stats, params, x, y)
    assert_near(found, in_turn(step, stats, params, (x, y), count), 1e-4)
    assert is_nested(text, number, count), text


@pytest.mark.parametrize("options", [{"gradient_checkpoint.type": "auto"}, {"zero.level": "v1"}])
def test_settings_of_a_step(options: dict[str, Any]) -> None:
    w, scale, shift, mean, x, y = data(1, (LAYERS, 6, 6), (6,), (6,), (LAYERS, 6), (24, 6), (24, 6))
    params, stats = {"w": w * 0.3, "scale": scale, "shift": shift}, {"mean": mean, "var": mean**2}
    found, text = run(layers, 4, 2, stats, params, x, y, **options)
    assert_near(found, in_turn(layers, stats, params, (x, y), 4), 1e-4)
    assert is_nested(text, 2, 4), text


def stages(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """Two stages of such layers; the second one begins with a normalization."""

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        with epl.replicate(name="first"):
            h, first = jax.lax.scan(partial(normalized_layer, params), x, (params["w"], stats[0]))
        with epl.replicate(name="second"):
            with epl.per_micro_batch():
                h = h - h.mean(axis=0)
            h, second = jax.lax.scan(partial(normalized_layer, params), h, (params["w"], stats[1]))
            return ((h - y) ** 2).mean(), (first, second)

    return differentiated(loss, stats, params, x, y)


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "zb-h1"])
@pytest.mark.parametrize("devices", [2, 4])
def test_stages_of_a_pipeline(schedule: str, devices: int) -> None:
    w, scale, shift, mean, x, y = data(2, (LAYERS, 6, 6), (6,), (6,), (LAYERS, 6), (24, 6), (24, 6))
    params = {"w": w * 0.3, "scale": scale, "shift": shift}
    stats = ({"mean": mean, "var": mean**2}, {"mean": mean + 1, "var": mean**2 + 1})
    options = {"pipeline.num_stages": 2, "pipeline.strategy": schedule}
    found, text = run(stages, 4, devices, stats, params, x, y, **options)
    assert_near(found, in_turn(stages, stats, params, (x, y), 4), 1e-4)
    assert sum(" in <" in loop for loop in text) == 4


def whitened(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """A loop in the scope without samples: it makes of a covariance what samples are multiplied by."""

    def root(covariance: jax.Array) -> jax.Array:
        def better(root: jax.Array, _: None) -> tuple[jax.Array, None]:
            root = 1.2 * root - 0.2 * root @ root @ root @ covariance
            return root / jnp.sqrt((root * root).sum() + 1), None

        return jax.lax.scan(better, jnp.eye(6), None, length=60)[0]

    def loss(params: Any, stats: Any, x: jax.Array, y: jax.Array) -> Any:
        with epl.per_micro_batch():
            h = x @ params["w"][0]
            h = h - h.mean(axis=0)
            h = h @ root((h[:, :, None] * h[:, None, :]).mean(axis=0) / 10 + 0.1 * jnp.eye(6))
        return ((h - y) ** 2).mean(), stats

    return differentiated(loss, stats, params, x, y)


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 2)])
def test_a_loop_that_has_statistics_and_no_samples(count: int, devices: int) -> None:
    w, stats, x, y = data(3, (2, 6, 6), (6,), (24, 6), (24, 6))
    found, text = run(whitened, count, devices, stats, {"w": w * 0.3}, x, y)
    assert_near(found, in_turn(whitened, stats, {"w": w * 0.3}, (x, y), count), 1e-4)
    assert is_nested(text, 2, count), text


def whole_numbers(kind: str, length: int = 60) -> Callable[..., Any]:
    """Layers with statistics of whole numbers, states that they update, and what is made of them."""

    def layer(carried: Any, own: Any) -> tuple[Any, Any]:
        (h, total), (w, state) = carried, own
        with epl.per_micro_batch():
            h = (h @ w) % 5
            own = h.max(axis=0) if kind == "maximum" else h.mean(axis=0)
            state = state * 2 % 7 + own
            total = total + own * own
        return ((h + own) % 8, total), (state, own if kind == "as it is" else total)

    def step(stats: Any, w: jax.Array, x: jax.Array) -> Any:
        (h, total), (state, stack) = jax.lax.scan(layer, (x, jnp.zeros(6)), (w, stats[:length]))
        return jnp.concatenate([state, stats[length:]]), (h.mean(axis=0), total, stack), h.sum()

    return step


def numbers() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    shapes = ((60, 6), (60, 6, 6), (16, 6))
    stats, w, x = (random.integers(-4, 5, shape).astype("f") for shape in shapes)
    return stats, w, x


@pytest.mark.parametrize("kind", ["mean", "maximum", "as it is"])
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_whole_numbers_are_bit_equal(kind: str, count: int, devices: int) -> None:
    stats, w, x = numbers()
    step = whole_numbers(kind)
    found, text = run(step, count, devices, stats, w, x)
    expected = in_turn(step, stats, w, (x,), count)
    jax.tree.map(np.testing.assert_array_equal, found, (*expected[:2], count * expected[2]))
    assert is_nested(text, 1, count), text


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 2)])
def test_short_loops_carry_their_states_too(count: int, devices: int) -> None:
    """The front end unrolls two iterations: the next states are put together of values of each."""
    stats, w, x = numbers()
    step = whole_numbers("mean", length=2)
    found, _ = run(step, count, devices, stats, w[:2], x)
    expected = in_turn(step, stats, w[:2], (x,), count)
    jax.tree.map(np.testing.assert_array_equal, found, (*expected[:2], count * expected[2]))


def read_of_all(kind: str) -> Callable[..., Any]:
    """Layers of which an op is done once, of the statistics of all micro-batches."""

    def layer(h: jax.Array, own: Any) -> tuple[jax.Array, Any]:
        w, state = own
        with epl.per_micro_batch():
            h = (h @ w) % 5
            own = h.max(axis=0) if kind == "maximum" else h.mean(axis=0)
        return (h + own) % 8, (own if kind == "maximum" else state + own * own, own)

    def step(stats: Any, w: jax.Array, x: jax.Array) -> Any:
        _, (state, stack) = jax.lax.scan(layer, x, (w, stats))
        return state, stack, x.sum()

    return step


@pytest.mark.parametrize("kind", ["maximum", "square"])
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 2)])
def test_a_loop_with_an_op_that_is_done_once_is_unrolled(kind: str, count: int, devices: int) -> None:
    stats, w, x = numbers()
    (state, stack, _), text = run(read_of_all(kind), count, devices, stats, w, x)
    each = [jax.jit(read_of_all(kind))(stats, w, part)[1] for part in np.split(x, count)]
    if kind == "maximum":
        np.testing.assert_array_equal(state, np.max(each, axis=0))
        np.testing.assert_array_equal(stack, np.max(each, axis=0))
    else:
        mean = np.mean(each, axis=0)
        np.testing.assert_array_equal(stack, mean)
        np.testing.assert_array_equal(state, stats + mean * mean)
    assert is_nested(text, 0, count), text
