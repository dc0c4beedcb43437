"""Recomputation (`gradient_checkpoint`): the same results, in less memory."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from models import gpt
from test_models import train

OPTIMIZER = optax.adam(1e-2)
WIDTH, SAMPLES = 16, 64
AUTO = {"gradient_checkpoint.type": "auto"}
COLLECTION = {"gradient_checkpoint.type": "collection"}

Layer = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def layer(h: jax.Array, w: jax.Array, key: jax.Array) -> jax.Array:
    """With dropout, whose mask the gradient reads."""
    h = jax.nn.gelu(h @ w)
    return jnp.where(jax.random.bernoulli(key, 0.9, h.shape), h / 0.9, 0)


@contextlib.contextmanager
def replicated(index: int, depth: int) -> Iterator[None]:
    with epl.replicate(name="all"):
        yield


@contextlib.contextmanager
def split(index: int, depth: int) -> Iterator[None]:
    with epl.split(device_count=2, name="all"):
        yield


@contextlib.contextmanager
def staged(index: int, depth: int) -> Iterator[None]:
    with epl.replicate(name=f"stage{2 * index // depth}"):
        yield


def make_step(scope: Any = replicated, apply: Layer = layer, names: tuple[int, ...] = ()) -> Any:
    """A perceptron whose layers stand in scopes. Of those in `names` the results are kept."""

    def step(params: Any, opt: Any, key: jax.Array, x: jax.Array) -> Any:
        key, *keys = jax.random.split(key, len(params) + 1)

        def loss(params: Any) -> jax.Array:
            h = x
            for index, w in enumerate(params):
                with scope(index, len(params)):
                    h = apply(h, w, keys[index])
                    if index in names:
                        epl.add_to_collection(h, "checkpoints")
                    if index == len(params) - 1:
                        return (h**2).mean()
            raise AssertionError("no layer")

        value, gradients = jax.value_and_grad(loss)(params)
        updates, opt = OPTIMIZER.update(gradients, opt, params)
        return optax.apply_updates(params, updates), opt, key, value

    return step


def make_arguments(depth: int) -> tuple[Any, Any, jax.Array, jax.Array]:
    keys = jax.random.split(jax.random.key(0), depth + 1)
    params = [jax.random.normal(key, (WIDTH, WIDTH)) * 0.3 for key in keys[1:]]
    return params, OPTIMIZER.init(params), jax.random.key(1), jax.random.normal(keys[0], (SAMPLES, WIDTH))


def compiled(depth: int, config: dict[str, Any], devices: int = 1, **options: Any) -> Any:
    step = make_step(**options)
    made = epl.parallelize(
        step, state=("params", "opt", "key"), batch="x", devices=devices, config=config, donate=False
    )
    return made.lower(*make_arguments(depth)).compile()


def assert_equal(found: Any, expected: Any) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(as_numbers(a), as_numbers(b))


def as_numbers(value: Any) -> np.ndarray[Any, Any]:
    is_key = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(jnp.asarray(value)) if is_key else value)


def count(step: Any, kind: str) -> int:
    """The ops of a kind of work, in the listing."""
    text, found, total = step.lowered.as_text("global"), False, 0
    for line in text.splitlines():
        if re.match(r"tg\d+\.", line):
            found = f".{kind}" in line
        total += found and line.startswith("    ")
    return total


Plain = Callable[[int, Any, str], tuple[Any, Any]]


@pytest.fixture(scope="module")
def plain() -> Plain:
    """The step of eight layers in which nothing is computed again, and what it computes: once for all modes.

    By devices, scope and the configuration as JSON.
    """

    @functools.cache
    def make(devices: int, scope: Any, config: str) -> tuple[Any, Any]:
        step = compiled(8, json.loads(config), devices, scope=scope)
        return step, results_of_three(step)

    return make


def results_of_three(step: Any) -> Any:
    """The state after three steps on one batch, and the last loss."""
    *state, x = make_arguments(8)
    for _ in range(3):
        *state, loss = step(*state, x)
    return state, loss


@pytest.mark.parametrize(
    ("devices", "scope", "config"),
    [
        (1, replicated, {}),
        (1, replicated, {"pipeline.num_micro_batch": 4}),
        (2, replicated, {}),
        (2, replicated, {"zero.level": "v1"}),
        (2, replicated, {"zero.level": "v3", "pipeline.num_micro_batch": 2}),
        (2, split, {}),
        (4, split, {"pipeline.num_micro_batch": 2}),
        (2, staged, {}),
        (2, staged, {"pipeline.num_micro_batch": 4}),
        (2, staged, {"pipeline.num_micro_batch": 4, "pipeline.strategy": "zb-h1"}),
        (4, staged, {"pipeline.num_micro_batch": 4, "zero.level": "v1"}),
    ],
)
@pytest.mark.parametrize("mode", [AUTO, COLLECTION])
def test_the_results_are_those_of_the_plain_step(
    plain: Plain, devices: int, scope: Any, config: dict[str, Any], mode: dict[str, Any]
) -> None:
    """Bit by bit: the same operations, on the same values, in the same order."""
    step, expected = plain(devices, scope, json.dumps(config))
    names = (1, 3, 5) if mode == COLLECTION else ()
    again = compiled(8, config | mode, devices, scope=scope, names=names)
    assert count(step, "recompute") == 0
    assert count(again, "recompute") > 0
    assert_equal(results_of_three(again), expected)


@pytest.mark.parametrize(
    ("name", "count"),
    [("gpt", 1), ("gpt", 2), ("resnet", 1), ("gan", 2), ("moe_top_k", 1), ("lstm", 2), ("scanned", 2)],
)
def test_models_train_as_without(name: str, count: int) -> None:
    model = importlib.import_module(f"models.{name}").build()
    config = {"pipeline.num_micro_batch": count}
    options: dict[str, Any] = {"state": "state", "batch": 1, "devices": 2}
    runs = [
        train(model, [epl.parallelize(step, config=config | mode, **options) for step in model.steps])
        for mode in ({}, AUTO)
    ]
    (expected, expected_losses), (found, losses) = runs
    np.testing.assert_array_equal(losses, expected_losses)
    assert_equal(found, expected)


def arena_bytes(depth: int, config: dict[str, Any]) -> int:
    return int(compiled(depth, config).plan.arena_bytes)


def test_memory_grows_with_the_square_root_of_the_depth() -> None:
    """Four times as many layers take four times the memory, or twice that much if they are computed again."""
    few, many = arena_bytes(16, {}), arena_bytes(64, {})
    few_again, many_again = arena_bytes(16, AUTO), arena_bytes(64, AUTO)
    assert many > 3.8 * few
    assert many_again < 2.2 * few_again
    assert many_again < 0.25 * many


@pytest.mark.parametrize(("count", "most"), [(1, 0.45), (2, 0.6)])
def test_a_gpt_takes_less_memory(count: int, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpt, "LAYERS", 4)
    model = gpt.build()
    config = {"pipeline.num_micro_batch": count}
    plain, again = (
        epl.parallelize(model.steps[0], state="state", batch=1, devices=1, config=config | mode)
        .lower(model.state, model.batch(np.random.default_rng(0)))
        .compile()
        .plan.arena_bytes
        for mode in ({}, AUTO)
    )
    assert again < most * plain


def test_scopes_behind_the_last_one_are_not_computed_again() -> None:
    again = compiled(8, AUTO | {"gradient_checkpoint.end_taskgraph": 0}, 2, scope=staged)
    listing = again.lowered.as_text("global")
    assert "tg0.recompute" in listing
    assert "tg1.recompute" not in listing
    assert "tg1.recompute" in compiled(8, AUTO, 2, scope=staged).lowered.as_text("global")


def test_a_named_value_is_kept_where_a_helper_names_it() -> None:
    """In an inner jit, under `vmap`, and in the mapped function of a gradient."""

    @jax.jit
    def helper(h: jax.Array, w: jax.Array, key: jax.Array) -> jax.Array:
        made = layer(h, w, key)
        epl.add_to_collection([made], "checkpoints")
        assert len(epl.get_collection("checkpoints")) > 0
        return made

    def mapped(h: jax.Array, w: jax.Array, key: jax.Array) -> jax.Array:
        def of_sample(row: jax.Array) -> jax.Array:
            made = jnp.tanh(row @ w)
            epl.add_to_collection(made, "checkpoints")
            return jnp.sin(made)

        return jax.vmap(of_sample)(h)

    for apply in (helper, mapped):
        plain, again = (compiled(4, config, apply=apply) for config in ({}, COLLECTION))
        assert count(again, "recompute") > 0
        assert_equal(again(*make_arguments(4)), plain(*make_arguments(4)))


def named(before: bool) -> Any:
    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            h = jnp.sin(x @ w)
            if before:
                epl.add_to_collection(h, "checkpoints")
            y = jnp.cos(h) ** 2
            hits = (y > 0.5).sum()
            epl.add_to_collection(hits, "checkpoints")
            return y.mean() + 0 * hits

        value, gradient = jax.value_and_grad(loss)(w)
        return w - gradient, value

    return epl.parallelize(step, state="w", batch="x", devices=1, config=COLLECTION)


def test_a_name_that_no_gradient_needs_says_nothing() -> None:
    w, x = jnp.ones((3, 3)), jnp.ones((4, 3))
    with pytest.warns(epl.CompileWarning, match="no gradient needs a value that is named") as warned:
        named(before=False)(w, x)
    assert Path(warned[0].filename) == Path(__file__)
    named(before=True)(w, x)


def test_the_gradients_are_checked_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AUTO | {"gradient_checkpoint.check_gradients": True}
    step = compiled(6, config)
    checked: list[Any] = []
    compare = type(step)._check_gradients
    monkeypatch.setattr(
        type(step), "_check_gradients", lambda *args: checked.append(compare(*args)) or checked[-1]
    )
    for _ in range(2):
        step(*make_arguments(6))
    [report] = checked
    assert max(difference.largest for difference in report.differences) == 0


def test_gradients_that_differ_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AUTO | {"gradient_checkpoint.check_gradients": True}
    step = compiled(6, config)
    run = type(step)._call

    def wrong(self: Any, leaves: list[Any], **options: Any) -> Any:
        params, *rest = run(self, leaves, **options)
        scale = 1.0 if self.lowered.plain_options is None else 1.1
        return [np.asarray(w) * scale for w in params], *rest

    monkeypatch.setattr(type(step), "_call", wrong)
    with pytest.raises(epl.CheckError, match="differs from the step in which nothing is computed again"):
        step(*make_arguments(6))


def two_gradients(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """The second gradient's forward work stands behind the first gradient."""

    def loss(ws: list[jax.Array], x: jax.Array) -> jax.Array:
        with epl.replicate():
            h = x
            for w in ws:
                h = jnp.tanh(h @ w)
                epl.add_to_collection(h, "checkpoints")
            return (h**2).mean()

    value, first = jax.value_and_grad(loss)(ws, x)
    second = jax.grad(loss)(ws, 0.5 - x)
    return [w - 0.1 * (a + b) for w, a, b in zip(ws, first, second, strict=True)], value


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("config", [AUTO, COLLECTION])
def test_a_step_makes_two_gradients(config: dict[str, Any], count: int) -> None:
    random = np.random.default_rng(0)
    ws = [random.normal(size=(5, 5)).astype("f") * 0.5 for _ in range(6)]
    x = random.normal(size=(12, 5)).astype("f")
    config = config | {"pipeline.num_micro_batch": count}
    made = epl.parallelize(two_gradients, state="ws", batch="x", devices=1, config=config)
    for found, expected in zip(
        jax.tree.leaves(made(ws, x)), jax.tree.leaves(jax.jit(two_gradients)(ws, x)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
