"""`epl.per_micro_batch`: a step is the mean of steps on a micro-batch each, which update states in turn."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from models import resnet
from steps import assert_near

Step = Callable[..., tuple[Any, Any, Any]]  # (stats, params, x, y) -> (stats, gradients, loss)


def in_turn(step: Step, stats: Any, params: Any, batches: Any, count: int) -> tuple[Any, Any, Any]:
    """Means of gradients and losses of steps on micro-batches; the statistics go from one to the next."""
    gradients, losses = [], []
    for part in zip(*(np.split(batch, count) for batch in batches), strict=True):
        stats, gradient, loss = jax.jit(step)(stats, params, *part)
        gradients.append(gradient)
        losses.append(loss)
    return stats, jax.tree.map(lambda *each: sum(each) / count, *gradients), sum(losses) / count


def data(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.normal(size=shape).astype("f") for shape in shapes]


def normalize(h: jax.Array, params: Any, stats: Any) -> tuple[jax.Array, Any]:
    mean = h.mean(axis=0)
    var = (h * h).mean(axis=0) - mean * mean
    new = {"mean": 0.9 * stats["mean"] + 0.1 * mean, "var": 0.9 * stats["var"] + 0.1 * var}
    return (h - mean) * jax.lax.rsqrt(var + 1e-5) * params["scale"] + params["shift"], new


def network(scoped: str, stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
    """Batch normalization between two products; `scoped`: what stands in the scope."""

    def scope(part: str) -> contextlib.AbstractContextManager[Any]:
        return epl.per_micro_batch() if scoped == part else contextlib.nullcontext()

    def loss(params: Any) -> tuple[jax.Array, Any]:
        with scope("forward"):
            with scope("normalization"):
                h, new = normalize(x @ params["w"], params, stats)
            return ((jnp.tanh(h) @ params["v"] - y) ** 2).mean(), new

    with scope("step"):
        (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        return new, gradients, value


@pytest.mark.parametrize("scoped", ["normalization", "forward", "step"])
@pytest.mark.parametrize("scope", [None, epl.replicate, epl.split])
@pytest.mark.parametrize(("count", "devices"), [(1, 2), (2, 1), (4, 1), (3, 2), (4, 2)])
def test_batch_normalization(count: int, devices: int, scope: Any, scoped: str) -> None:
    def step(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
        with scope(device_count=devices if scope is epl.split else 1) if scope else contextlib.nullcontext():
            return network(scoped, stats, params, x, y)

    w, scale, shift, v, mean, var, x, y = data(0, (5, 6), (6,), (6,), (6, 4), (6,), (6,), (24, 5), (24, 4))
    params = {"w": w, "scale": scale, "shift": shift, "v": v}
    stats = {"mean": mean, "var": var**2}
    config = {"pipeline.num_micro_batch": count}
    options: dict[str, Any] = {"state": "stats", "batch": ("x", "y"), "devices": devices}
    made = epl.parallelize(step, config=config, **options)
    found = made(stats, params, x, y)
    assert_near(found, in_turn(step, stats, params, (x, y), count), 1e-5)


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_a_residual_network_trains(count: int, devices: int) -> None:
    def gradients(stats: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
        (value, new), gradients = resnet.differentiated(params, stats, {"x": x, "y": y})
        return new, gradients, value

    model = resnet.build()
    config = {"pipeline.num_micro_batch": count}
    step = epl.parallelize(resnet.step, state="state", batch=1, devices=devices, config=config)
    random, found, expected = np.random.default_rng(7), model.state, model.state
    for _ in range(3):
        batch = model.batch(random)
        found, loss = step(found, batch)
        made = in_turn(gradients, expected["stats"], expected["params"], (batch["x"], batch["y"]), count)
        expected = resnet.updated(expected, made[1], made[0])
        np.testing.assert_allclose(loss, made[2], rtol=1e-5)
    assert_near(found, expected, 1e-4)


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 2)])
def test_maxima_and_masked_means_are_of_a_micro_batch(count: int, devices: int) -> None:
    @epl.per_micro_batch()
    def loss(w: jax.Array, x: jax.Array, mask: jax.Array) -> jax.Array:
        h = jnp.tanh(x @ w)
        h = h / jnp.max(jax.lax.stop_gradient(jnp.abs(h)), axis=0)
        return ((h**2).sum(axis=1) * mask).sum() / mask.sum()

    def step(stats: Any, w: jax.Array, x: jax.Array, mask: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(loss)(w, x, mask)
        return stats, gradient, value

    w, x, mask = data(1, (5, 6), (24, 5), (24,))
    mask = (mask > 0).astype("f")
    config = {"pipeline.num_micro_batch": count}
    made = epl.parallelize(step, batch=("x", "mask"), devices=devices, config=config)
    assert_near(made((), w, x, mask), in_turn(step, (), w, (x, mask), count), 1e-5)


@pytest.mark.parametrize("kind", ["recomputed", "layers of a loop", "inner jit"])
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 2)])
def test_the_scope_holds_in_what_jax_makes_of_it(count: int, devices: int, kind: str) -> None:
    """The inner function is traced out of the scope, too, where it has no samples."""
    centered = jax.jit(lambda h: (h - h.mean(axis=0)) * jax.lax.rsqrt(h.var(axis=0) + 1e-3))

    def block(h: jax.Array, w: jax.Array) -> jax.Array:
        with epl.per_micro_batch():
            return jnp.tanh(centered(h @ w))

    def forward(w: jax.Array, x: jax.Array) -> jax.Array:
        if kind == "recomputed":
            return jax.checkpoint(block)(jax.checkpoint(block)(x, w[0]), w[1])
        if kind == "layers of a loop":
            return jax.lax.scan(lambda h, w: (block(h, w), None), x, w)[0]
        return block(x, centered(w[0]))

    def step(stats: Any, w: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(lambda w: ((forward(w, x) - y) ** 2).mean())(w)
        return stats, gradient, value

    w, x, y = data(4, (2, 6, 6), (24, 6), (24, 6))
    made = epl.parallelize(
        step, batch=("x", "y"), devices=devices, config={"pipeline.num_micro_batch": count}
    )
    assert_near(made((), w, x, y), in_turn(step, (), w, (x, y), count), 1e-5)


def test_a_statistic_that_leaves_the_scope_is_the_mean() -> None:
    def step(x: jax.Array) -> Any:
        with epl.per_micro_batch():
            mean, top = x.mean(axis=0), x.max(axis=0)
            var = ((x - mean) ** 2).mean(axis=0)
            return mean, top, jnp.sqrt(var)

    (x,) = data(2, (12, 3))
    mean, top, deviation = epl.parallelize(step, batch=0, config={"pipeline.num_micro_batch": 4}, devices=1)(
        x
    )
    assert_near((mean, top), (x.mean(axis=0), x.max(axis=0)), 1e-6)
    assert_near(deviation, np.mean([part.std(axis=0) for part in np.split(x, 4)], axis=0), 1e-5)


def test_what_cannot_be_of_each_micro_batch_is_an_error() -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.per_micro_batch():
            return x.mean() > 0

    made = epl.parallelize(step, batch=0, config={"pipeline.num_micro_batch": 2}, devices=1)
    with pytest.raises(epl.CompileError, match=r"a value of each micro-batch, of 'i1'.* the mean is taken"):
        made.lower(jnp.ones(8)).compile()
    uncalled = pytest.raises(epl.ScopeError, match=r"call it, `with epl\.per_micro_batch\(\):`")
    with uncalled, epl.per_micro_batch:
        pass


def test_a_state_that_is_updated_on_two_passes_is_an_error() -> None:
    def loss(w: jax.Array, mean: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        with epl.per_micro_batch():
            h = jnp.tanh(x @ w)
            mean = jnp.maximum(mean, h.mean(axis=0))
            return ((h - mean) ** 2).mean(), mean

    def step(w: jax.Array, mean: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        for _ in range(2):
            gradient, mean = jax.grad(loss, has_aux=True)(w, mean, x)
            w = w - 0.1 * gradient
        return w, mean

    config = {"pipeline.num_micro_batch": 2}
    made = epl.parallelize(step, state=("w", "mean"), batch="x", devices=1, config=config)
    with pytest.raises(epl.CompileError, match=r"after parameters are updated.*\n.*read before that"):
        made.lower(jnp.ones((5, 6)), jnp.ones(6), jnp.ones((8, 5))).compile()
