"""`epl.Array`: where it goes, and what donation does to it."""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from processes import run_python

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
    assert isinstance(array, jax.Array)
    with pytest.raises(AttributeError, match="has no attribute 'shapes'"):
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


def test_goes_into_gradients_by_hand(array: epl.Array) -> None:
    """As cotangents, which JAX adds, and as what a rule of the user's closes over or returns."""

    @jax.custom_vjp
    def scale(v: Any) -> Any:
        return v * array

    scale.defvjp(lambda v: (scale(v), None), lambda _, cotangent: (array,))
    _, pull = jax.vjp(lambda v: (v, v), array)
    np.testing.assert_array_equal(pull((array, array))[0], 2 * VALUES)
    ones = jnp.ones((3, 4))
    np.testing.assert_array_equal(jax.jit(scale)(ones), VALUES)
    np.testing.assert_array_equal(jax.grad(lambda v: (scale(v) + scale(v)).sum())(ones), 2 * VALUES)


@pytest.mark.parametrize(
    "use",
    [
        lambda v: jax.jit(lambda x: x * v)(2.0),
        lambda v: jax.lax.scan(lambda c, _: (c + v, None), jnp.zeros((3, 4)), None, length=2)[0],
        lambda v: jax.jit(lambda x: x * v).lower(2.0).compile()(2.0),
        lambda v: epl.parallelize(lambda x: x * v, devices=2, name="double")(2.0),
    ],
)
def test_programs_close_over_it(array: epl.Array, use: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(use(array), 2 * VALUES)


def test_the_transfer_guard_takes_it_for_an_array(array: epl.Array) -> None:
    add = epl.parallelize(lambda state, x: (state + x, x.sum()), state="state", devices=2, name="add")
    one = jnp.ones(())
    with jax.transfer_guard("disallow"):
        state, total = add(array, one)
        np.testing.assert_array_equal(jnp.add(state, one), VALUES + 2)
    assert total == 1


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


OBJECTS = ("addressable_shards", "at", "global_shards", "traceback")  # new ones at each access
OWN = (
    *("__annotations__", "__class__", "__del__", "__dict__", "__doc__", "__init__", "__module__", "__new__"),
    *("__numpy_dtype__", "__slots__", "__str__", "__weakref__"),
)


def attributes() -> list[str]:
    """What a `jax.Array` has."""
    names = dir(jnp.zeros(1))
    return [name for name in names if name not in OWN and (name[0] != "_" or name.startswith("__"))]


@pytest.mark.parametrize("name", attributes())
def test_has_what_a_jax_array_has(array: epl.Array, name: str) -> None:
    """Each attribute is there; those that are values have the value that JAX's array has."""
    peer = jnp.asarray(VALUES)
    try:
        expected = getattr(peer, name)
    except (AttributeError, NotImplementedError) as error:  # says what to use instead
        with pytest.raises(type(error), match=re.escape(str(error))):
            getattr(array, name)
        return
    found = getattr(array, name)
    assert callable(found) == callable(expected)
    if callable(expected) or name in OBJECTS:
        return
    if isinstance(expected, jax.Array | np.ndarray):
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sum", (0,)),
        ("reshape", (4, 3)),
        ("astype", (jnp.int32,)),
        ("tolist", ()),
        ("tobytes", ()),
        ("item", (5,)),
        ("dot", (VALUES.T,)),
        ("__divmod__", (2.0,)),
        ("clone", ()),
        ("platform", ()),
        ("on_device_size_in_bytes", ()),
    ],
)
def test_methods_give_what_jax_arrays_give(array: epl.Array, name: str, args: tuple[Any, ...]) -> None:
    expected, found = getattr(jnp.asarray(VALUES), name)(*args), getattr(array, name)(*args)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("name", ["devices", "__dlpack_device__"])
def test_is_where_jax_has_it(array: epl.Array, name: str) -> None:
    """Of CPU devices; those on cards are in test_dlpack.py."""
    assert getattr(array, name)() == getattr(jnp.asarray(VALUES), name)()


def test_goes_into_dlpack(array: epl.Array) -> None:
    np.testing.assert_array_equal(np.from_dlpack(array), VALUES)
    np.testing.assert_array_equal(jnp.from_dlpack(array), VALUES)
    assert np.from_dlpack(array).ctypes.data == np.asarray(array).ctypes.data


def test_can_be_deleted(keep: epl.Parallelized) -> None:
    array = keep(VALUES)
    array.delete()
    array.delete()
    assert array.is_deleted()
    assert repr(array) == "epl.Array(float32[3,4], deleted)"
    with pytest.raises(epl.Error, match='state "state" was deleted'):
        _ = array + 1
    with pytest.raises(epl.Error, match='state "state" was deleted'):
        keep(array)


def test_copies_stay_on_the_devices(array: epl.Array) -> None:
    for copied in (array.copy(), copy.copy(array), copy.deepcopy({"a": array})["a"]):
        assert isinstance(copied, epl.Array)
        np.testing.assert_array_equal(copied, VALUES)


def test_says_how_it_is_held(array: epl.Array) -> None:
    assert isinstance(array.sharding, jax.sharding.SingleDeviceSharding)
    assert repr(array.sharding) == "HeldByEpl(mesh data=2: [whole, whole]; for JAX whole on cpu:0)"
    assert array.sharding.device_set == {jax.devices("cpu")[0]}
    assert (array.committed, array.is_fully_addressable, array.is_fully_replicated) == (False, True, True)


def test_has_a_named_sharding_where_jax_has_the_devices() -> None:
    """In a process whose JAX has four CPU devices; EPL's mesh has two."""
    found = run_python(
        """
        import epl, jax, jax.numpy as jnp, numpy as np
        from jax.sharding import NamedSharding, PartitionSpec as P
        def step(w, x):
            with epl.split(2):
                return w * 2, jnp.tanh(x @ w).sum()
        parallel = epl.parallelize(step, state=0, batch=1, devices=2)
        w, _ = parallel(np.ones((4, 8), np.float32), np.ones((6, 4), np.float32))
        held = w.sharding
        assert isinstance(held, NamedSharding) and held.spec == P(None, "model"), held
        assert held.mesh.shape["model"] == 2 and w.devices() == set(jax.devices()[:2])
        assert w.committed and not w.is_fully_replicated
        assert [shard.data.shape for shard in w.addressable_shards] == [(4, 4), (4, 4)]
        assert w.addressable_data(1).shape == (4, 4)
        twice = jax.jit(lambda v: v * 2)(w)
        assert twice.sharding.is_equivalent_to(held, 2), twice.sharding
        np.testing.assert_array_equal(twice, np.full((4, 8), 4))
        np.testing.assert_array_equal(w + jnp.ones((4, 8)), np.full((4, 8), 3))
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=4",
    )
    assert found == ""
