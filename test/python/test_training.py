"""Parallelized steps against `jax.jit` of the same function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

import epl
from steps import assert_close, batches, mlp, mlp_parameters, training_step

DEVICES = [1, 2, 3, 4, 8]
X = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("optimizer", [optax.sgd(0.1), optax.adam(1e-3, eps=1e-2)], ids=["sgd", "adam"])
def test_training_agrees_with_jax(devices: int, optimizer: optax.GradientTransformation) -> None:
    function = training_step(optimizer)
    step = epl.parallelize(function, state=("params", "opt_state"), batch=("x", "y"), devices=devices)
    reference = jax.jit(function)
    found = expected = (mlp_parameters(), optimizer.init(mlp_parameters()))
    for x, y in batches(10):
        *found, loss = step(*found, x, y)
        *expected, expected_loss = reference(*expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_close(tuple(found), tuple(expected), 1e-4)
    assert all(isinstance(leaf, epl.Array) for leaf in jax.tree.leaves(found))
    assert isinstance(loss, jax.Array)


@pytest.mark.parametrize("devices", DEVICES)
def test_evaluation_takes_the_states_of_training(devices: int) -> None:
    @epl.parallelize(batch=("x", "y"), devices=devices)
    def evaluate(params: Any, x: jax.Array, y: jax.Array) -> dict[str, jax.Array]:
        with epl.replicate():
            logits = mlp(params, x)
            hits = jnp.argmax(logits, axis=-1) == y
            return {"correct": hits.sum(), "logits": logits, "hits": hits}

    optimizer = optax.sgd(0.1)
    train = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices=devices
    )
    (x, y), *_ = batches(1)
    params, _, _ = train(mlp_parameters(), optimizer.init(mlp_parameters()), x, y)
    found = evaluate(params, x, y)
    logits = mlp(jax.tree.map(jnp.asarray, params), x)
    np.testing.assert_allclose(found["logits"], logits, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["hits"], np.argmax(logits, -1) == y)
    assert found["hits"].dtype == bool
    assert int(found["correct"]) == int((np.argmax(logits, -1) == y).sum())
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(params))


def test_a_train_state_and_a_python_step_count() -> None:
    optimizer = optax.adam(1e-3)

    @epl.parallelize(state=0, batch=1, devices=2)
    def step(state: TrainState, x: jax.Array) -> tuple[TrainState, jax.Array]:
        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                return (mlp(params, x) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradients), value

    state = TrainState.create(apply_fn=mlp, params=mlp_parameters(), tx=optimizer)
    for x, _ in batches(3):
        state, _ = step(state, x)
    assert int(state.step) == 3
    assert state.tx is optimizer
    assert len(step._lowered) == 1


def test_decorator_without_arguments() -> None:
    epl.init("cpu:2")

    @epl.parallelize
    def double(x: jax.Array) -> jax.Array:
        """Doubles."""
        return x * 2

    assert double.__name__ == "double"
    assert double.__doc__ == "Doubles."
    np.testing.assert_array_equal(double(X), X * 2)
    np.testing.assert_array_equal(double(x=X), X * 2)


def test_results_keep_tree_dtype_and_weak_type() -> None:
    @epl.parallelize(devices=2)
    def step(x: Any, n: Any) -> Any:
        return {"a": (x.astype(jnp.bfloat16), None), "b": [n + 1, x > 3], "c": (x * 10).astype(jnp.uint8)}

    found = step(X, 2)
    expected = jax.jit(step.__wrapped__)(X, 2)
    assert_close(found, expected, 0)
    kinds = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(found)]
    assert kinds == [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(expected)]
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(found))


def test_arguments_promote_and_default_as_in_jit() -> None:
    def step(x: jax.Array, rate: Any, double: bool = False) -> jax.Array:
        return x * rate * (2 if double else 1)

    x = jnp.arange(4, dtype=jnp.bfloat16)
    parallel = epl.parallelize(step, batch="x", devices=2, name="scale")
    for rate in (0.1, np.float32(0.1)):
        found, expected = parallel(x, rate), jax.jit(step)(x, rate)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    optional = epl.parallelize(lambda x, a=None, b=1.0: x * b if a is None else x + a, devices=2, name="pick")
    assert [float(optional(3.0)), float(optional(3.0, a=1.0)), float(optional(3.0, b=4.0))] == [3, 4, 12]


def test_unsigned_states_stay_unsigned() -> None:
    step = epl.parallelize(lambda state: (state + 1) // 2, state="state", devices=1, name="halve")
    state = step(np.array([0, 5, 4_000_000_001], np.uint32))
    assert state.dtype == np.uint32
    np.testing.assert_array_equal(state, [0, 3, 2_000_000_001])
    np.testing.assert_array_equal(step(state), [0, 2, 1_000_000_001])


def test_typed_keys_come_back_typed() -> None:
    @epl.parallelize(state="key", devices=2)
    def step(key: jax.Array, other: jax.Array) -> Any:
        key, now = jax.random.split(key)
        return key, jax.random.uniform(now, (5,)), jax.random.fold_in(other, 3)

    key, other = jax.random.key(7), jax.random.key(8, impl="threefry2x32")
    found, expected = step(key, other), jax.jit(step.__wrapped__)(key, other)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
    np.testing.assert_array_equal(jax.random.key_data(found[0]), jax.random.key_data(expected[0]))
    np.testing.assert_array_equal(jax.random.key_data(found[2]), jax.random.key_data(expected[2]))
    np.testing.assert_array_equal(found[1], expected[1])
    step(found[0], other)


def test_dropout_does_not_depend_on_the_devices() -> None:
    def step(x: jax.Array, key: jax.Array) -> jax.Array:
        with epl.replicate():
            return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)

    expected = jax.jit(step)(X, jax.random.key(3))
    for devices in (1, 2, 3):
        found = epl.parallelize(step, batch="x", devices=devices)(X, jax.random.key(3))
        np.testing.assert_array_equal(found, expected)


def test_nan_and_infinity_pass_through() -> None:
    x = np.array([[np.nan, np.inf, -np.inf, 1.0], [0.0, -0.0, 1e38, -1e38]], np.float32)

    def step(x: jax.Array) -> Any:
        with epl.replicate():
            return x * 10, jnp.maximum(x, 0), x.sum(0), jnp.exp(x), jnp.isnan(x)

    found = epl.parallelize(step, batch="x", devices=2)(x)
    for a, b in zip(found, jax.jit(step)(x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_closed_over_arrays_are_uploaded_once() -> None:
    table = jnp.asarray(np.random.default_rng(0).normal(size=(4, 300)), jnp.float32)

    @epl.parallelize(batch="x", devices=2)
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            return x @ table

    for factor in (1, 2):
        np.testing.assert_allclose(step(factor * X), factor * X @ table, rtol=1e-5, atol=1e-5)
    (lowered,) = step._lowered.values()
    assert [value.shape for value in lowered.program.hidden] == [(4, 300)]
