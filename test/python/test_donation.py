"""Donation: a step writes over the states that it takes, but never over what somebody else can see."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl

VALUES = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.fixture(scope="module")
def add() -> epl.Parallelized:
    """A step that adds 1 to its state."""
    return epl.parallelize(lambda state: state + 1, state="state", devices=2, name="add")


def address(array: epl.Array) -> int:
    return int(np.asarray(array).ctypes.data)


def test_a_state_is_updated_in_place(add: epl.Parallelized) -> None:
    state = add(VALUES)
    before = address(state)
    for _ in range(3):
        state = add(state)
    assert address(state) == before
    np.testing.assert_array_equal(state, VALUES + 4)


def test_donated_arrays_say_by_whom(add: epl.Parallelized) -> None:
    array = add(VALUES)
    add(array)
    assert array.is_deleted()
    uses: list[Callable[[Any], Any]] = [np.asarray, jnp.sin, lambda a: a + 1, lambda a: a.copy()]
    for use in (*uses, lambda a: a[0], pickle.dumps, add, jax.jit(lambda a: a), jax.block_until_ready):
        with pytest.raises(
            epl.DonatedError, match=r'state "state" was donated by call \d+ of add: .* copy\(\)'
        ):
            use(array)
    assert repr(array) == "epl.Array(float32[3,4], donated)"
    assert array.shape == (3, 4)


def test_a_copy_outlives_donation(add: epl.Parallelized) -> None:
    array = add(VALUES)
    copy = array.copy()
    add(array)
    np.testing.assert_array_equal(copy, VALUES + 1)


@pytest.mark.parametrize(
    "export", [np.asarray, memoryview, lambda a: np.asarray(a)[1:], lambda a: np.asarray(a).T.ravel("K")]
)
def test_no_step_writes_what_a_view_shows(add: epl.Parallelized, export: Callable[[Any], Any]) -> None:
    state = add(VALUES)
    view = export(np.asarray(state))
    expected, held = np.array(view), address(state)
    state = add(state)
    moved = address(state)
    for _ in range(2):
        state = add(state)
    np.testing.assert_array_equal(view, expected)
    assert moved != held
    assert address(state) == moved  # the view is of the old memory: the new one is free
    np.testing.assert_array_equal(state, VALUES + 4)


def test_a_view_that_is_gone_does_not_count(add: epl.Parallelized) -> None:
    state = add(VALUES)
    view = np.asarray(state)
    held = int(view.ctypes.data)
    del view
    assert address(add(state)) == held


@pytest.mark.parametrize("use", [jnp.asarray, jax.device_put, epl.Array.to_jax, jax.jit(lambda v: v)])
def test_a_jax_array_keeps_its_value(add: epl.Parallelized, use: Callable[[Any], Any]) -> None:
    state = add(VALUES)
    made = use(state)
    after = add(state)
    np.testing.assert_array_equal(made, VALUES + 1)
    np.testing.assert_array_equal(after, VALUES + 2)


def test_a_jax_array_is_a_view_while_it_lives(add: epl.Parallelized) -> None:
    state = add(VALUES)
    held = address(state)
    view = state.to_jax()
    assert view.unsafe_buffer_pointer() == held
    state = add(state)
    assert address(state) != held  # a step does not write where the view reads
    held = address(state)
    del view
    assert address(add(state)) == held


def test_what_jax_computes_does_not_keep_the_memory(add: epl.Parallelized) -> None:
    state = add(VALUES)
    held = address(state)
    computed = [state + 0, jax.jit(lambda v: v * 2)(state), state.sum()]
    jax.block_until_ready(computed)
    assert address(add(state)) == held


@pytest.mark.parametrize("make", [np.array, jnp.array, lambda v: jnp.array(v).astype(jnp.bfloat16)])
def test_what_the_user_made_stays(add: epl.Parallelized, make: Callable[[Any], Any]) -> None:
    mine = make(VALUES)
    state = add(add(mine))
    np.testing.assert_array_equal(np.asarray(mine), VALUES)
    np.testing.assert_array_equal(np.asarray(state), VALUES + 2)


def test_one_array_in_two_leaves_is_copied() -> None:
    def step(params: Any, average: Any) -> Any:
        return params + 1, average * 10

    both = epl.parallelize(step, state=("params", "average"), devices=2)
    first, _ = both(VALUES, VALUES)
    params, average = both(first, first)
    np.testing.assert_array_equal(params, VALUES + 2)
    np.testing.assert_array_equal(average, (VALUES + 1) * 10)
    np.testing.assert_array_equal(first, VALUES + 1)


def test_a_state_that_is_also_an_input_is_copied() -> None:
    step = epl.parallelize(lambda state, old: state + old, state="state", devices=2, name="sum")
    state = step(VALUES, VALUES)
    np.testing.assert_array_equal(step(state, state), 4 * VALUES)
    np.testing.assert_array_equal(state, 2 * VALUES)


def test_donation_can_be_declined() -> None:
    add = epl.parallelize(lambda state: state + 1, state="state", devices=2, donate=False, name="add")
    first = add(VALUES)
    second = add(first)
    assert not first.is_deleted()
    np.testing.assert_array_equal(first, VALUES + 1)
    np.testing.assert_array_equal(second, VALUES + 2)


def test_a_call_with_a_donated_array_consumes_nothing() -> None:
    both = epl.parallelize(lambda a, b: (a + 1, b + 1), state=("a", "b"), devices=2, name="both")
    gone, kept = both(VALUES, VALUES)
    both(gone, VALUES)
    for arguments in ((gone, kept), (kept, gone)):
        with pytest.raises(epl.DonatedError):
            both(*arguments)
    assert not kept.is_deleted()
    both(kept, VALUES)
