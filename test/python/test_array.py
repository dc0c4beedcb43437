"""`epl.Array`: where it goes, and what donation does to it."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

import epl
from epl import runtime

VALUES = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.fixture(scope="module")
def keep() -> epl.Parallelized:
    """A step that returns its state as it is."""
    return epl.parallelize(lambda state: state, state="state", devices=2, name="keep")


@pytest.fixture
def array(keep: epl.Parallelized) -> epl.Array:
    result: epl.Array = keep(VALUES)
    return result


def test_describes_itself(array: epl.Array) -> None:
    assert (array.shape, array.dtype, array.ndim, array.size, array.nbytes) == ((3, 4), np.float32, 2, 12, 48)
    assert len(array) == 3
    assert repr(array).startswith("epl.Array([[ 1.,  2.,  3.,  4.],")
    assert repr(array).endswith("float32[3,4])")
    assert not isinstance(array, jax.Array)
    with pytest.raises(AttributeError, match=r'"epl.Array" has no attribute "shapes"'):
        _ = array.shapes
    with pytest.raises(TypeError, match="unhashable"):
        hash(array)


def test_goes_into_numpy(array: epl.Array) -> None:
    np.testing.assert_array_equal(array, VALUES)
    view = np.asarray(array)
    assert not view.flags.writeable
    assert np.asarray(array, np.int32).dtype == np.int32
    copy = np.array(array)
    copy[:] = 0
    np.testing.assert_array_equal(array, VALUES)


@pytest.mark.parametrize(
    "use",
    [
        lambda a: jax.jit(lambda v: v * 2)(a),
        lambda a: jnp.add(a, a),
        lambda a: jnp.asarray(a) * 2,
        lambda a: jax.vmap(lambda v: v * 2)(a),
        lambda a: jax.device_put(a) * 2,
        lambda a: jnp.stack([a, a]).sum(0),
        lambda a: jax.lax.add(a, a),
        lambda a: a + a,
        lambda a: 2 * a,
        lambda a: np.float32(2) * a,
        lambda a: np.full((3, 4), 2, np.float32) * a,
        lambda a: jnp.full((3, 4), 2.0) * a,
        lambda a: a.at[:].multiply(2),
        lambda a: jax.tree.map(lambda v: v * 2, {"a": a})["a"],
    ],
)
def test_goes_into_jax(array: epl.Array, use: Callable[[Any], Any]) -> None:
    result = use(array)
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(result, VALUES * 2)


def test_goes_into_gradients(array: epl.Array) -> None:
    np.testing.assert_array_equal(jax.grad(lambda v: (v**2).sum())(array), 2 * VALUES)


def test_is_a_leaf_of_trees(array: epl.Array) -> None:
    assert jax.tree.leaves({"a": array}) == [array] or jax.tree.leaves({"a": array})[0] is array
    assert jax.block_until_ready({"a": array})["a"] is array
    assert jax.eval_shape(lambda v: v, array) == jax.ShapeDtypeStruct((3, 4), jnp.float32)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "ge", "eq", "ne"]
)
def test_arithmetic(array: epl.Array, name: str) -> None:
    operation = getattr(operator, name)
    for other in (2.0, VALUES[::-1], jnp.asarray(VALUES)):
        np.testing.assert_allclose(operation(array, other), operation(VALUES, np.asarray(other)), rtol=1e-6)
        np.testing.assert_allclose(operation(other, array), operation(np.asarray(other), VALUES), rtol=1e-6)
    np.testing.assert_array_equal(-array, -VALUES)
    np.testing.assert_array_equal(array @ VALUES.T, VALUES @ VALUES.T)
    np.testing.assert_array_equal(array[1:, ::2], VALUES[1:, ::2])
    assert float(array.sum()) == VALUES.sum()


def test_scalars_convert(keep: epl.Parallelized) -> None:
    three = keep(3)
    assert (int(three), float(three), bool(three), operator.index(three), f"{three:04d}") == (
        3,
        3.0,
        True,
        3,
        "0003",
    )
    with pytest.raises(TypeError, match="without dimensions"):
        len(three)


def test_pickles_by_value(array: epl.Array) -> None:
    copy = pickle.loads(pickle.dumps(array))
    assert isinstance(copy, jax.Array)
    np.testing.assert_array_equal(copy, VALUES)


def test_flax_serializes_it(array: epl.Array) -> None:
    restored = serialization.from_bytes({"w": array}, serialization.to_bytes({"w": array}))
    np.testing.assert_array_equal(restored["w"], VALUES)


def test_donated_arrays_say_by_whom(keep: epl.Parallelized, array: epl.Array) -> None:
    keep(array)
    assert array.is_deleted()
    for use in (np.asarray, jnp.sin, lambda a: a + 1, lambda a: a.copy(), lambda a: a[0], pickle.dumps):
        with pytest.raises(epl.DonatedError, match=r"donated by call \d+ of keep"):
            use(array)
    with pytest.raises(epl.DonatedError, match=r"donated by call \d+ of keep"):
        keep(array)
    assert repr(array) == "epl.Array(float32[3,4], donated)"
    assert array.shape == (3, 4)


def test_a_copy_outlives_donation(keep: epl.Parallelized, array: epl.Array) -> None:
    copy = array.copy()
    keep(array)
    np.testing.assert_array_equal(copy, VALUES)


def test_views_keep_their_value() -> None:
    add = epl.parallelize(lambda state: state + 1, state="state", devices=2, name="add")
    state = add(VALUES)
    view = np.asarray(state)
    expected = view.copy()
    for _ in range(3):
        state = add(state)
    np.testing.assert_array_equal(view, expected)
    np.testing.assert_array_equal(state, VALUES + 4)


@pytest.mark.parametrize("make", [np.array, jnp.array])
def test_what_the_user_made_stays(make: Callable[[Any], Any]) -> None:
    add = epl.parallelize(lambda state: state + 1, state="state", devices=2, name="add")
    mine = make(VALUES)
    state = add(add(mine))
    np.testing.assert_array_equal(mine, VALUES)
    np.testing.assert_array_equal(state, VALUES + 2)


def test_numpy_may_be_changed_after_the_call() -> None:
    add = epl.parallelize(lambda state, x: state + x, state="state", devices=2, name="add")
    x = VALUES.copy()
    state = add(VALUES, x)
    x[:] = 100
    np.testing.assert_array_equal(state, 2 * VALUES)


def test_one_array_in_two_leaves_is_copied() -> None:
    def step(params: Any, average: Any) -> Any:
        return params + 1, average * 10

    both = epl.parallelize(step, state=("params", "average"), devices=2)
    params, _ = both(VALUES, VALUES)
    params, average = both(params, params)
    np.testing.assert_array_equal(params, VALUES + 2)
    np.testing.assert_array_equal(average, (VALUES + 1) * 10)


def test_donation_can_be_declined() -> None:
    add = epl.parallelize(lambda state: state + 1, state="state", devices=2, donate=False, name="add")
    first = add(VALUES)
    second = add(first)
    np.testing.assert_array_equal(first, VALUES + 1)
    np.testing.assert_array_equal(second, VALUES + 2)


def test_ctrl_c_while_waiting_keeps_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    step = epl.parallelize(lambda state: (state + 1, state.sum()), state="state", devices=2, name="add")
    state, _ = step(VALUES)
    result = runtime.module().HostResult

    def interrupted(self: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(result, "numpy", interrupted)
        with pytest.raises(KeyboardInterrupt):
            step(state)
    np.testing.assert_array_equal(state, VALUES + 2)
    step(state)
