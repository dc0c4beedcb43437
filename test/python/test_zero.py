"""ZeRO: what devices share of the optimizer's state, gradients and parameters, beside `jax.jit`."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import optax
import pytest

import epl
from steps import (
    assert_close,
    assert_near,
    assert_trains_as_jax,
    batches,
    exchanged,
    mlp,
    mlp_parameters,
    training_step,
)
from test_models import train
from test_split import BATCH, LENGTH, VOCABULARY, transformer

LEVELS = ("v0", "v1", "v2", "v3")
CLIPPED = optax.chain(optax.clip_by_global_norm(0.1), optax.adamw(1e-2, eps=1e-3))


def perceptron(level: str, devices: int, optimizer: optax.GradientTransformation) -> tuple[Any, Any]:
    """A parallelized step and its state."""
    options: dict[str, Any] = {"state": ("params", "opt_state"), "batch": ("x", "y")}
    step = epl.parallelize(training_step(optimizer), devices=devices, config={"zero.level": level}, **options)
    return step, (mlp_parameters(), optimizer.init(mlp_parameters()))


def collectives(lowered: Any) -> dict[str, int]:
    """How many tensors each kind of collective takes."""
    return {kind: len(tensors) for kind, tensors in exchanged(lowered.as_text("local")).items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("devices", [2, 4])
def test_a_perceptron_trains_as_jax_does(devices: int, level: str) -> None:
    step, found = perceptron(level, devices, CLIPPED)
    expected, reference = found, jax.jit(training_step(CLIPPED))
    for batch in batches(5):
        *found, loss = step(*found, *batch)
        *expected, expected_loss = reference(*expected, *batch)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_close(tuple(found), tuple(expected), 1e-4)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        *(("cnn", level) for level in ("v1", "v2", "v3")),
        ("resnet", "v3"),
        ("gan", "v1"),
        ("gan", "v3"),
        ("lora", "v3"),
        ("mixed_precision", "v2"),
    ],
)
def test_models_train_as_jax_does(name: str, level: str) -> None:
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    options: dict[str, Any] = {"state": "state", "batch": 1, "devices": 2, "config": {"zero.level": level}}
    found, losses = train(model, [epl.parallelize(step, **options) for step in model.steps])
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(found, expected, 10 * model.tolerance)


@pytest.mark.parametrize("level", ["v1", "v2", "v3"])
@pytest.mark.parametrize(("devices", "splits"), [(2, False), (4, False), (4, True)])
def test_a_transformer_trains_as_jax_does(
    devices: int, splits: bool, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not splits:
        monkeypatch.setattr(epl, "split", lambda **_: epl.replicate())
    step, state = transformer(layers=1)
    x, y = np.random.default_rng(1).integers(0, VOCABULARY, (2, BATCH, LENGTH)).astype(np.int32)
    options: dict[str, Any] = {"state": "state", "batch": ("x", "y"), "devices": devices}
    parallel = epl.parallelize(step, config={"zero.level": level}, **options)
    assert_trains_as_jax(parallel, step, state, x, y)


@pytest.mark.parametrize(
    ("level", "optimizer", "counts"),
    [
        ("", "adamw", {"all_reduce": 7}),
        ("v1", "adamw", {"all_reduce": 1, "reduce_scatter": 6, "all_gather": 6}),
        ("v2", "adamw", {"all_reduce": 1, "reduce_scatter": 6, "all_gather": 6}),
        # Two of three matrices are read again by the backward work, no bias is.
        ("v3", "adamw", {"all_reduce": 1, "reduce_scatter": 6, "all_gather": 6 + 2}),
        # There is no state to share; the gradients of v2 are shared all the same.
        ("v1", "sgd", {"all_reduce": 7}),
        ("v2", "sgd", {"all_reduce": 1, "reduce_scatter": 6, "all_gather": 6}),
        # The norm is that of parts, summed.
        ("v2", "clipped", {"all_reduce": 2, "reduce_scatter": 6, "all_gather": 6}),
    ],
)
def test_what_devices_exchange(level: str, optimizer: str, counts: dict[str, int]) -> None:
    known = {"adamw": optax.adamw(1e-2), "sgd": optax.sgd(1e-2), "clipped": CLIPPED}
    step, state = perceptron(level, 2, known[optimizer])
    assert collectives(step.lower(*state, *batches(1)[0])) == counts


@pytest.mark.parametrize("devices", [2, 4])
def test_a_device_keeps_its_part_of_the_state(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epl, "split", lambda **_: epl.replicate())
    step, state = transformer(layers=1)
    x = np.zeros((BATCH, LENGTH), np.int32)
    parameters, optimizer = (sum(leaf.nbytes for leaf in jax.tree.leaves(part)) for part in state)

    def state_bytes(level: str) -> int:
        options: dict[str, Any] = {"state": "state", "batch": ("x", "y"), "devices": devices}
        parallel = epl.parallelize(step, config={"zero.level": level}, **options)
        return int(parallel.lower(state, x, x).compile().plan.state_bytes)

    assert state_bytes("") == parameters + optimizer
    assert state_bytes("v1") == pytest.approx(parameters + optimizer / devices, rel=0.01)
    assert state_bytes("v3") == pytest.approx((parameters + optimizer) / devices, rel=0.01)


@pytest.mark.parametrize("other", ["", "v1", "v3"])
def test_state_goes_from_one_step_to_another(other: str) -> None:
    """To an evaluation that keeps the layout or has its own, to a step of another level, to JAX and back."""
    options: dict[str, Any] = {"config": {"zero.level": other}, "devices": 2}

    def evaluate(params: Any, x: jax.Array) -> jax.Array:
        with epl.replicate():
            return mlp(params, x)

    def evaluate_and_keep(params: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        return params, evaluate(params, x)

    train_step, state = perceptron("v3", 2, CLIPPED)
    continued, _ = perceptron(other, 2, CLIPPED)
    (x, y), reference, expected = batches(1)[0], jax.jit(training_step(CLIPPED)), state
    gathering = epl.parallelize(evaluate, state=(), batch="x", **options)
    keeping = epl.parallelize(evaluate_and_keep, state="params", batch="x", **options)
    for step in (train_step, continued, train_step):
        *state, _ = step(*state, x, y)
        *expected, _ = reference(*expected, x, y)
        logits = mlp(expected[0], x)
        np.testing.assert_allclose(gathering(state[0], x), logits, rtol=1e-4, atol=1e-5)
        state[0], found = keeping(state[0], x)
        np.testing.assert_allclose(found, logits, rtol=1e-4, atol=1e-5)
    saved = jax.tree.map(np.asarray, tuple(state))
    assert_close(saved, tuple(expected), 1e-4)
    *state, _ = train_step(*saved, x, y)
    *expected, _ = reference(*expected, x, y)
    assert_close(tuple(state), tuple(expected), 1e-4)


def test_the_reference_shares_nothing() -> None:
    step, state = perceptron("v3", 2, CLIPPED)
    report = step.lower(*state, *batches(1)[0]).compile().check(*state, *batches(1)[0])
    assert all(difference.passes for difference in report.differences)


@pytest.mark.parametrize("level", LEVELS)
def test_a_step_that_only_replaces_its_state(level: str) -> None:
    """Nothing is computed: each device takes its part of what takes the state's place."""
    reset = epl.parallelize(
        lambda state, start: start, state="state", devices=2, config={"zero.level": level}
    )
    start = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(reset(np.zeros(8, np.float32), start), start)
