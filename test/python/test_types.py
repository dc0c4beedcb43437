"""Types of elements, kinds of trees, and arrays that are several things at once, beside `jax.jit`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import flax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.training.train_state import TrainState

import epl
from steps import assert_agrees, assert_near, mlp, run

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(8, 12)).astype(np.float32)
Y = RANDOM.normal(size=(8, 3)).astype(np.float32)
W = jnp.asarray(RANDOM.normal(size=(12, 3)) / 4, jnp.float32)
INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
LONG = ("int64", "uint64", "float64")


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_computing_in_16_bits_with_parameters_of_32(dtype: Any) -> None:
    def step(params: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                narrow = jax.tree.map(lambda leaf: leaf.astype(dtype), params)
                return ((mlp(narrow, x.astype(dtype)).astype(jnp.float32) - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), value

    params = {"w0": W @ W.T, "b0": jnp.zeros(12), "w1": W, "b1": jnp.zeros(3)}
    # XLA rounds its intermediate values at other places: one rounding is 2^-8 or 2^-11.
    assert_agrees(step, (params,), X, Y, tolerance=2e-3)


def arithmetic(x: jax.Array) -> tuple[jax.Array, ...]:
    sums = x.sum(), x.max(0), x.min(1), jnp.concatenate([x, x], 1), x.astype(jnp.float32) * 0.5
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return sums
    return *sums, x // 3, x % 3, x << 1, x ^ 5, x * x, x.astype(jnp.int8), x > 2


def test_integers_and_booleans() -> None:
    def step(state: dict[str, jax.Array], x: jax.Array) -> Any:
        with epl.replicate():
            found = {name: arithmetic((jnp.abs(x) * 9).astype(name)) for name in (*INTEGERS, "bool")}
        return {name: ~v if v.dtype == bool else v * 3 + 1 for name, v in state.items()}, found

    assert_agrees(step, ({name: jnp.asarray([1, 0, 1], name) for name in (*INTEGERS, "bool")},), X, rounds=3)


@pytest.mark.filterwarnings("ignore:step was compiled for")  # they change types on purpose
def test_64_bits_switched_on_and_off() -> None:
    def step(state: Any, x: jax.Array) -> Any:
        with epl.replicate():
            sums = [x.astype(jax.dtypes.canonicalize_dtype(name)).sum() for name in LONG]
            return state + sums[0].astype(state.dtype), sums, jnp.arange(3)

    steps = [epl.parallelize(step, state=0, batch=1, devices=devices) for devices in (1, 2)]
    for is_on in (False, True, False, True):
        with jax.enable_x64(is_on):
            x = np.arange(8) * (10**10 if is_on else 1)
            for state in (3, np.int64(3), np.float64(0.5)):
                expected = jax.jit(step)(state, x)
                for parallel in steps:
                    found = parallel(state, x)
                    assert_near(found, expected, 1e-6)
                    assert found[0].dtype.itemsize == (8 if is_on else 4)
    assert [len(parallel._lowered) for parallel in steps] == [4, 4]


@pytest.mark.filterwarnings("ignore:step was compiled for")  # they change types on purpose
def test_scalars_weak_types_and_constants_as_results() -> None:
    def step(x: jax.Array, a: Any, b: Any, c: Any) -> Any:
        with epl.replicate():
            products = x * a, x + b, x.astype(jnp.bfloat16) * a, jnp.where(c, x, b), a * b
        return *products, a, b, c, 1, 2.0, True, np.float32(3), jnp.ones(3), jnp.arange(4.0)

    calls = [
        (2, 3.0, True),
        (2.5, 1, False),
        (np.float32(2), np.int8(1), np.bool_(1)),
        (np.float64(2), np.int64(1), True),
        (jnp.float32(2), jnp.asarray(1), jnp.bool_(1)),
    ]
    for devices in (1, 2):
        parallel = epl.parallelize(step, batch=0, devices=devices)
        for arguments in calls:
            found, expected = parallel(X, *arguments), jax.jit(step)(X, *arguments)
            assert_near(found, expected, 1e-6)
            assert [leaf.weak_type for leaf in found] == [leaf.weak_type for leaf in expected]


def test_complex_numbers_are_an_error() -> None:
    step = epl.parallelize(lambda x: x * 2, batch=0, devices=2, name="double")
    with pytest.raises(epl.UnsupportedError, match='"x" has dtype complex64, which is not supported'):
        step(X.astype(np.complex64))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Counted:
    w: Any
    count: Any
    tag: str = dataclasses.field(metadata={"static": True}, default="counted")


class Pair(NamedTuple):
    first: Any
    second: Any


@flax.struct.dataclass
class Layer:
    w: Any
    function: Callable[..., Any] = flax.struct.field(pytree_node=False)


def test_trees_of_all_kinds() -> None:
    def step(state: dict[str, Any], x: jax.Array, y: jax.Array) -> Any:
        with epl.replicate():
            output = state["layer"].function(x @ state["layer"].w) + x @ state["counted"].w
            loss = ((output - y) ** 2).mean()
        counted = Counted(state["counted"].w * 0.9, state["counted"].count + 1)
        train = state["train"].replace(step=state["train"].step + 1)
        changed = {"counted": counted, "train": train, "number": state["number"] + 1}
        return {**state, **changed}, loss, {}, None, Pair(None, loss)

    state = {
        "counted": Counted(W, jnp.int32(0)),
        "layer": Layer(W, jnp.tanh),
        "pair": Pair(None, {"empty": []}),
        "nothing": (),
        "train": TrainState(step=0, apply_fn=mlp, params={"w": W}, tx=None, opt_state=()),
        "number": 1,
        "scalar": np.float32(1.5),
    }
    assert_agrees(step, (state,), X, Y, rounds=3)


def test_empty_trees() -> None:
    assert_agrees(lambda state, x: (state, x.sum()), ({},), X, rounds=2)
    assert_agrees(lambda state, x: (state, None), ((),), X, rounds=2)
    assert epl.parallelize(lambda state, x: None, batch=1, devices=2, name="none")({}, X) is None
    zeros, one = epl.parallelize(lambda: (jnp.zeros(3), 1), devices=2, name="constants")()
    np.testing.assert_array_equal(zeros, np.zeros(3))
    assert int(one) == 1


def test_one_array_in_several_arguments_and_results() -> None:
    def average(params: Any, ema: Any, x: jax.Array) -> Any:
        params = params * 0.9 + x.mean()
        return params, ema * 0.9 + params * 0.1, x.sum()

    def echo(params: Any, x: jax.Array, y: jax.Array) -> Any:
        with epl.replicate():
            return params, x, y, x, x * 2, params, params

    def swap(a: Any, b: Any, x: jax.Array) -> Any:
        return b, a, x.sum()

    assert_agrees(average, (W, W), X)
    assert_agrees(echo, (W,), X, X, rounds=2)
    assert_agrees(swap, (W, W + 1), X, rounds=3)


@pytest.mark.parametrize("devices", [1, 2])
def test_an_own_array_as_two_states(devices: int) -> None:
    def step(a: jax.Array, b: jax.Array, x: jax.Array) -> Any:
        return a + x.mean(), b - x.mean()

    parallel = epl.parallelize(step, state=(0, 1), batch=2, devices=devices)
    (first, _), _ = run(parallel, (W, W), (X,), 1)
    found = parallel(first, first, X)
    expected = W + X.mean()
    assert_near(found, step(expected, expected, X), 1e-6)
    assert_near(first, expected, 1e-6)  # not donated: one memory cannot become two states


def test_debug_nans_names_the_line_and_keeps_the_state() -> None:
    def step(state: jax.Array, x: jax.Array) -> Any:
        with epl.replicate():
            return state + 1, jnp.log(x).sum()

    parallel = epl.parallelize(step, state=0, batch=1, devices=2)
    with jax.debug_nans(True):
        state, loss = parallel(jnp.zeros(3), np.abs(X))
        assert np.isfinite(loss)
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in log") as error:
            parallel(state, X)
    lines = [(str(entry.path), entry.lineno + 1) for entry in error.traceback]
    assert (__file__, step.__code__.co_firstlineno + 2) in lines
    np.testing.assert_array_equal(state, np.ones(3))
    assert np.isnan(parallel(state, X)[1])
    with pytest.raises(epl.DonatedError):
        np.asarray(state)


def test_debug_infs_finds_what_jax_does_not() -> None:
    factors = iter([1e38, 1.0])  # of the trace, and when JAX runs the step again
    parallel = epl.parallelize(lambda x: x * next(factors), batch=0, devices=2, name="grow")
    with jax.debug_infs(True):
        np.testing.assert_array_equal(parallel(np.ones(4, np.float32)), np.full(4, 1e38, np.float32))
        with pytest.raises(FloatingPointError, match=r'grow: result "result\[0\]" holds inf'):
            parallel(np.full(4, 10, np.float32))
