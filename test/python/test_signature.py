"""Arguments and results of a step: roles, names, trees, and the errors about them."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from flax.training.train_state import TrainState
from hypothesis import given
from hypothesis import strategies as st

import epl
from epl.signature import Signature

F32 = jax.ShapeDtypeStruct((4, 3), jnp.float32)
I32 = jax.ShapeDtypeStruct((4,), jnp.int32)


def step(params: Any, opt_state: Any, x: Any, y: Any = 1.0, *, rate: float = 0.1, mode: str = "train") -> Any:
    return params, opt_state, x


def signature(function: Any = step, state: Any = (), batch: Any = (), static: Any = ()) -> Signature:
    return Signature(function, state, batch, static)


def roles(sig: Signature, *args: Any, **kwargs: Any) -> dict[str, str]:
    spec, _ = sig.bind(args, kwargs)
    found = sig.arguments(spec)
    return {a.name: a.role + ("" if a.batch_dim is None else f" {a.batch_dim}") for a in found}


def test_roles_by_name_and_by_position() -> None:
    names = signature(state=("params", "opt_state"), batch="x", static="mode")
    positions = signature(state=(0, 1), batch=2, static="mode")
    expected = {
        "params['b']": "state",
        "params['w']": "state",
        "opt_state[0]": "state",
        "x": "batch 0",
    }
    for sig in (names, positions):
        assert roles(sig, {"w": F32, "b": F32}, [F32], F32) == expected
        assert roles(sig, opt_state=[F32], x=F32, params={"w": F32, "b": F32}) == expected


def test_batch_axes_are_a_prefix_of_the_tree() -> None:
    sig = signature(batch={"x": {"tokens": 0, "cache": 1, "mask": None}, "y": -1}, static="mode")
    x = {"tokens": (F32, F32), "cache": F32, "mask": F32}
    assert roles(sig, 0.0, 0.0, x, F32) == {
        "params": "constant",
        "opt_state": "constant",
        "x['cache']": "batch 1",
        "x['mask']": "constant",
        "x['tokens'][0]": "batch 0",
        "x['tokens'][1]": "batch 0",
        "y": "batch 1",
    }


def test_defaults_are_python_values_unless_they_have_a_role() -> None:
    assert "rate" not in roles(signature(static="mode"), F32, F32, F32)
    assert roles(signature(static="mode"), F32, F32, F32, rate=2.0)["rate"] == "constant"
    assert roles(signature(state=("y",), static="mode"), F32, F32, F32)["y"] == "state"


def test_optional_arguments_are_part_of_the_key() -> None:
    sig = signature(lambda x, a=None, b=None: x)
    assert sig.bind((F32,), {"a": F32})[0] != sig.bind((F32,), {"b": F32})[0]


def test_scalars_are_weakly_typed_unless_they_are_states() -> None:
    sig = signature(state="params")
    spec, _ = sig.bind((1.0, 2.0, F32), {"y": np.float32(3), "rate": jnp.asarray(1) * 2.0})
    assert dict(zip((a.name for a in sig.arguments(spec)), spec.weak_types, strict=True)) == {
        "params": False,
        "opt_state": True,
        "x": False,
        "y": False,
        "rate": True,
    }


def test_variable_arguments() -> None:
    def variable(first: Any, *rest: Any, **named: Any) -> Any:
        return first + sum(rest) + named["c"]

    sig = signature(variable, batch="rest")
    assert roles(sig, F32, F32, F32, c=F32) == {
        "first": "constant",
        "rest[0]": "batch 0",
        "rest[1]": "batch 0",
        "named['c']": "constant",
    }
    spec, leaves = sig.bind((1.0, 2.0 * np.ones(3), np.ones(3)), {"c": 4.0})
    np.testing.assert_array_equal(sig.call(spec, leaves), [8.0, 8.0, 8.0])


def test_a_partial_keeps_its_signature() -> None:
    partial = signature(functools.partial(step, rate=2.0), state=0, static="mode")
    assert roles(partial, F32, F32, F32, rate=3.0)["rate"] == "constant"
    _, leaves = signature(functools.partial(lambda x, rate: x * rate, rate=2.0)).bind((3.0,), {})
    assert leaves == [3.0]


@pytest.mark.parametrize("bad", ["parms", 9, -7, 1.5, True])
def test_unknown_parameters_are_named(bad: Any) -> None:
    with pytest.raises(
        TypeError, match=r"step has (the )?parameters \(params, opt_state, x, y, rate, mode\)"
    ) as error:
        signature(state=(bad,))
    assert repr(bad) in str(error.value)


def test_two_roles_are_an_error() -> None:
    with pytest.raises(TypeError, match='"x" of step is named twice'):
        signature(state=("params", "x"), batch="x")
    with pytest.raises(epl.ArgumentError, match="named twice"):
        signature(state="params", batch=("x", "x"))
    with pytest.raises(TypeError, match='"params" of step is named twice'):
        signature(state=("params", 0))


def test_batch_errors() -> None:
    with pytest.raises(TypeError, match='axes of batch argument "x" are no prefix of its tree'):
        roles(signature(batch={"x": {"a": 0}}, static="mode"), F32, F32, {"a": F32, "b": F32})
    with pytest.raises(TypeError, match='"x" is a batch along axis 0, but has only 0 dimensions'):
        roles(signature(batch="x", static="mode"), F32, F32, 1.0)
    with pytest.raises(TypeError, match='"x" is a batch along axis 2, but has only 2 dimensions'):
        roles(signature(batch={"x": 2}, static="mode"), F32, F32, F32)
    with pytest.raises(TypeError, match='batch axis of "x" must be an integer or None'):
        roles(signature(batch={"x": "rows"}, static="mode"), F32, F32, F32)


def test_leaves_must_be_arrays() -> None:
    with pytest.raises(TypeError, match='"mode" must be an array, found str: name it in static_argnames'):
        signature().bind((F32, F32, F32), {"mode": "train"})
    with pytest.raises(TypeError, match=r"params\['f'\].*found function"):
        signature(static="mode").bind(({"f": step}, F32, F32), {})


def test_dtypes_without_a_plan_type_are_refused() -> None:
    with pytest.raises(epl.UnsupportedError, match='"x" has dtype complex64, which is not supported yet'):
        signature(static="mode").bind((F32, F32, np.ones(3, np.complex64)), {})


def test_static_values_must_be_hashable() -> None:
    with pytest.raises(TypeError, match='static argument "mode" must be hashable, found list'):
        signature(static="mode").bind((F32, F32, F32), {"mode": []})


def test_nnx_objects_inside_of_trees_are_refused() -> None:
    module = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    with pytest.raises(epl.ArgumentError, match=r'"params\[0\]" is an object of flax.nnx inside a tree'):
        signature(static="mode").bind(((module,), F32, F32), {})


@pytest.mark.parametrize(
    "value", [1.5, np.float32(1.5), np.float64(1.5), np.array(1.5), jnp.array(1.5), jnp.asarray(1.5) * 1]
)
def test_scalars_of_all_kinds_share_a_plan(value: Any) -> None:
    sig = signature(static="mode")
    assert sig.bind((value, F32, F32), {})[0] == sig.bind((1.5, F32, F32), {})[0]


def test_weak_types_share_a_plan() -> None:
    sig = signature(static="mode")
    weak = jnp.asarray(2) * 1
    strong = jnp.array(2, jnp.int32)
    assert (
        sig.bind((weak, F32, F32), {})[0]
        == sig.bind((strong, F32, F32), {})[0]
        == sig.bind((2, F32, F32), {})[0]
    )


def test_keys_differ_by_shape_dtype_tree_and_static_value() -> None:
    sig = signature(static="mode")
    calls = [
        sig.bind((F32, F32, x), {"mode": mode})[0]
        for x in (F32, I32, (F32,), {"a": F32}, np.zeros((4, 4), np.float32))
        for mode in ("train", "eval")
    ]
    assert len(set(calls)) == len(calls)


def test_shapes_and_arrays_share_a_plan() -> None:
    sig = signature(static="mode")
    assert (
        sig.bind((F32, I32, F32), {})[0]
        == sig.bind((np.ones((4, 3)), jnp.ones(4, int), jnp.ones((4, 3))), {})[0]
    )


def results(sig: Signature, out: Any, *args: Any) -> list[tuple[str, int | None]]:
    return [(r.name, r.updates) for r in sig.results(sig.bind(args, {})[0], out)]


def test_states_come_first_in_their_order() -> None:
    sig = signature(state=("opt_state", "params"), static="mode")
    found = results(sig, ((F32, I32), {"w": F32}, {"loss": F32}, I32), {"w": F32}, (F32, I32), F32)
    assert found == [
        ("opt_state[0]", 1),
        ("opt_state[1]", 2),
        ("params['w']", 0),
        ("result[2]['loss']", None),
        ("result[3]", None),
    ]


def test_a_lone_state_and_no_state() -> None:
    def update(state: Any, x: Any) -> Any:
        return state

    pair = namedtuple("pair", "a b")
    assert results(signature(update, state=0), pair(F32, I32), pair(F32, I32), F32) == [
        ("state.a", 0),
        ("state.b", 1),
    ]
    assert results(signature(update, state=0), [F32], F32, F32) == [("state", 0)]
    assert results(signature(update), F32, F32, F32) == [("result[0]", None)]
    assert results(signature(update), (F32, (I32,)), F32, F32) == [
        ("result[0]", None),
        ("result[1][0]", None),
    ]


def test_a_train_state_is_one_state() -> None:
    def update(state: TrainState, x: Any) -> Any:
        return state, x

    state = TrainState.create(apply_fn=step, params={"w": jnp.ones(3)}, tx=optax.sgd(0.1))
    sig = signature(update, state=0)
    spec, _ = sig.bind((state, F32), {})
    out = jax.eval_shape(lambda s, x: (s.apply_gradients(grads=s.params), x), state, F32)
    assert [a.role for a in sig.arguments(spec)] == ["state", "state", "constant"]
    assert spec.leaves[0] == jax.ShapeDtypeStruct((), jnp.int32)
    assert [r.updates for r in sig.results(spec, out)] == [0, 1, None]


def test_a_changed_tree_is_an_error() -> None:
    with pytest.raises(
        epl.StateError, match=r'step must return its state "params" with the same tree: expected .*found'
    ):
        results(signature(state="params", static="mode"), ({"w": F32, "v": F32}, F32), {"w": F32}, F32, F32)


def test_changed_shapes_and_dtypes_are_listed() -> None:
    with pytest.raises(epl.StateError) as error:
        results(
            signature(state="params", static="mode"),
            ({"a": I32, "b": F32, "c": jax.ShapeDtypeStruct((4, 4), jnp.bfloat16)}, F32),
            {"a": F32, "b": F32, "c": F32},
            F32,
            F32,
        )
    assert "params['a']: expected float32[4,3], found int32[4]" in str(error.value)
    assert "params['c']: expected float32[4,3], found bfloat16[4,4]" in str(error.value)
    assert "['b']" not in str(error.value)


def test_missing_states_are_an_error() -> None:
    with pytest.raises(
        epl.StateError, match=r"\(params, opt_state\) first: expected at least 2 results, found 1"
    ):
        results(signature(state=("params", "opt_state"), static="mode"), F32, F32, F32, F32)


trees = st.recursive(
    st.sampled_from([F32, I32, None]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner) | st.tuples(inner)
    ),
    max_leaves=8,
)


@given(trees, trees, trees)
def test_any_tree_is_bound_and_rebuilt(params: Any, opt_state: Any, x: Any) -> None:
    sig = signature(state=("params", "opt_state"), batch="x", static="mode")
    spec, leaves = sig.bind((params, opt_state, x), {})
    arguments = sig.arguments(spec)
    assert sig.call(spec, leaves) == (params, opt_state, x)
    assert len(arguments) == len(leaves) == len({argument.name for argument in arguments})
    ties = [r.updates for r in sig.results(spec, (params, opt_state, x)) if r.updates is not None]
    assert ties == [i for i, argument in enumerate(arguments) if argument.role == "state"]
