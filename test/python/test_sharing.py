"""Several steps that share one state: training and evaluation, gradients and their use."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from conftest import GatedStep
from steps import batches, mlp, mlp_loss, mlp_parameters, training_step

OPTIMIZER = optax.adam(1e-3, eps=1e-2)


def hits(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    with epl.replicate():
        return (jnp.argmax(mlp(params, x), axis=-1) == y).sum()


def gradient(params: Any, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Any]:
    return jax.value_and_grad(mlp_loss)(params, x, y)


def apply(params: Any, opt_state: Any, gradients: Any) -> tuple[Any, Any]:
    updates, opt_state = OPTIMIZER.update(gradients, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


def first() -> tuple[Any, Any]:
    return mlp_parameters(), OPTIMIZER.init(mlp_parameters())


def assert_close(found: Any, expected: Any) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        scale = np.abs(np.asarray(b, np.float64)).max(initial=1e-30)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("other", [2, 1, 3])
def test_training_and_evaluation_in_turn(other: int) -> None:
    """Also where the evaluation runs on another number of devices."""
    function = training_step(OPTIMIZER)
    train = epl.parallelize(function, state=("params", "opt_state"), batch=("x", "y"), devices=2)
    evaluate = epl.parallelize(hits, batch=("x", "y"), devices=other)
    found, expected = first(), first()
    for x, y in batches(5):
        *found, loss = train(*found, x, y)
        *expected, expected_loss = jax.jit(function)(*expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
        assert int(evaluate(found[0], x, y)) == int(hits(expected[0], x, y))
        assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(found))
    assert_close(found, tuple(expected))


@pytest.mark.parametrize("devices", [1, 3])
def test_gradients_in_one_step_and_their_use_in_another(devices: int) -> None:
    backward = epl.parallelize(gradient, batch=("x", "y"), devices=devices)
    update = epl.parallelize(apply, state=("params", "opt_state"), devices=devices)
    reference = jax.jit(training_step(OPTIMIZER))
    found, expected = first(), first()
    for x, y in batches(4):
        loss, gradients = backward(found[0], x, y)
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(gradients))
        found = update(*found, gradients)
        *expected, expected_loss = reference(*expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_close(found, tuple(expected))


def test_gradients_accumulate_in_a_state_of_their_own() -> None:
    def accumulate(total: Any, params: Any, x: jax.Array, y: jax.Array) -> Any:
        return jax.tree.map(jnp.add, total, gradient(params, x, y)[1])

    params = mlp_parameters()
    step = epl.parallelize(accumulate, state="total", batch=("x", "y"), devices=2)
    update = epl.parallelize(apply, state=("params", "opt_state"), devices=2)
    total = expected = jax.tree.map(jnp.zeros_like, params)
    for x, y in batches(3):
        total = step(total, params, x, y)
        expected = jax.jit(accumulate)(expected, params, x, y)
    assert_close(update(*first(), total), jax.jit(apply)(*first(), expected))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(total))


def test_a_reader_sees_the_state_of_its_place_in_the_program() -> None:
    """The step that comes after it in the queue writes over the state only once it has read it."""
    large = np.zeros(1 << 18, np.float32)
    add = epl.parallelize(lambda state: state + 1, state="state", devices=2, name="add")
    double = epl.parallelize(lambda state, other: state + 2 * other, state="state", devices=2, name="double")
    state, doubles = add(large), []
    for _ in range(8):
        doubles.append(double(large, state))
        state = add(state)
    for index, value in enumerate(doubles):
        np.testing.assert_array_equal(value, 2 * (index + 1))
    np.testing.assert_array_equal(state, 9)


def test_a_poisoned_state_poisons_its_readers(gated: GatedStep) -> None:
    read = epl.parallelize(lambda state, n: state + n, state="state", devices=2, name="read")
    n = gated(gated.zero(), culprit=0)
    reader = read(gated.zero(), n)
    gated.open()
    with pytest.raises(epl.Error, match=r'call 1 of read failed: state "n" is lost: call 1 of fragile'):
        reader.block_until_ready()
    with pytest.raises(epl.Error, match='state "n" is lost: call 1 of fragile failed'):
        read(gated.zero(), n)
