"""`epl.Array`: where it goes, and what donation does to it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl

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
