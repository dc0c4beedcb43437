"""Scopes: identity, nesting, names, default strategy, and what they are outside a parallelized step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import epl
from conftest import Lower
from epl.adapters.jax.trace import Traced, trace
from epl.scope_table import Kind, Strategy
from epl.scopes import default_strategy

X = jnp.ones((4, 4))
Step = Callable[[jax.Array], jax.Array]


def traced(step: Step) -> Traced:
    return trace(step, [jax.ShapeDtypeStruct(X.shape, X.dtype)], "step")


def scopes(step: Step) -> list[str]:
    return [str(strategy) for strategy in traced(step).scopes]


def test_every_unnamed_entry_is_a_new_task_graph() -> None:
    scope = epl.replicate()

    def step(x: jax.Array) -> jax.Array:
        with scope:
            x = x + 1
        with scope:
            return x * 2

    assert scopes(step) == ["epl.replicate(device_count=1)"] * 2


def test_equal_names_are_one_task_graph() -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate(name="a"):
            x = x + 1
        with epl.split(2, name="b"):
            x = x + 1
        with epl.replicate(name="a"):
            return x * 2

    assert scopes(step) == [
        'epl.replicate(device_count=1, name="a")',
        'epl.split(device_count=2, name="b")',
    ]


@pytest.mark.parametrize("second", [lambda: epl.split(1, name="a"), lambda: epl.replicate(2, name="a")])
def test_a_name_has_one_kind_and_count(second: Callable[[], object]) -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate(name="a"):
            x = x + 1
        with second():  # type: ignore[attr-defined]
            return x * 2

    with pytest.raises(epl.ScopeError, match=r'scope "a" is .* here and was .* before'):
        traced(step)


def test_a_scope_decorates_functions() -> None:
    @epl.replicate(name="layer")
    def layer(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    assert scopes(lambda x: layer(layer(x))) == ['epl.replicate(device_count=1, name="layer")']
    with pytest.raises(epl.ScopeError, match="inside"):
        scopes(epl.replicate()(layer))


def test_nesting_names_both() -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate(name="outer"), epl.split(2, name="inner"):
            return x + 1

    with pytest.raises(epl.ScopeError) as error:
        traced(step)
    assert 'epl.split(device_count=2, name="inner")' in str(error.value)
    assert 'epl.replicate(device_count=1, name="outer")' in str(error.value)


def test_nesting_through_an_inner_jit_is_found() -> None:
    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        with epl.replicate(name="inner"):
            return x + 1

    assert inner(X).shape == X.shape  # traced before, outside any step

    def step(x: jax.Array) -> jax.Array:
        with epl.replicate(name="outer"):
            return inner(x)

    with pytest.raises(epl.ScopeError, match="inside"):
        traced(step)


def test_an_error_inside_a_scope_leaves_it() -> None:
    def failing(x: jax.Array) -> jax.Array:
        with epl.replicate():
            raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            traced(failing)


def test_inner_jits_are_traced_once_per_scope(lower: Lower) -> None:
    count = 0

    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        nonlocal count
        count += 1
        return jnp.sin(x)

    def step(x: jax.Array) -> jax.Array:
        for name in ("a", "b", "a"):
            with epl.replicate(name=name):
                x = inner(x)
        return x

    traced(step)
    assert count == 2


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.checkpoint])
@pytest.mark.parametrize("is_named", [False, True])
def test_each_call_of_a_helper_enters_its_scope(lower: Lower, transform: Any, is_named: bool) -> None:
    """Whether JAX traces a helper at each call or keeps its first trace; a scope with a name is one."""

    @transform
    def helper(x: jax.Array) -> jax.Array:
        with epl.replicate(name="layer" if is_named else None):
            return jnp.sin(x)

    def step(x: jax.Array) -> jax.Array:
        for _ in range(2):
            x = helper(x)
        return helper(x)

    text = lower(step, X).text
    assert [f"epl.s{i}" in text for i in range(4)] == [True, not is_named, not is_named, False]
    differentiated = lower(jax.grad(lambda x: step(x).sum()), X).text
    assert ("epl.s2" in differentiated) == (not is_named)


def test_ids_do_not_leak_from_an_earlier_trace(lower: Lower) -> None:
    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        with epl.replicate():
            return jnp.sin(x)

    def first(x: jax.Array) -> jax.Array:
        with epl.replicate(name="a"):
            x = x * 2
        return inner(x)

    def second(x: jax.Array) -> jax.Array:
        return inner(x)

    assert "epl.s1" in lower(first, X).text
    text = lower(second, X).text
    assert "epl.s0" in text
    assert "epl.s1" not in text


def test_two_traces_give_the_same_text(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            x = jax.nn.gelu(x)
        with epl.replicate(name="b"):
            return jax.nn.softmax(x)

    first, second = (lower(step, X) for _ in range(2))
    assert first.text == second.text


def test_a_changed_python_value_is_traced_anew() -> None:
    count = 2

    def step(x: jax.Array) -> jax.Array:
        with epl.split(device_count=count):
            return x + 1

    assert scopes(step) == ["epl.split(device_count=2)"]
    count = 4
    assert scopes(step) == ["epl.split(device_count=4)"]


def test_a_scan_body_is_one_task_graph() -> None:
    def step(x: jax.Array) -> jax.Array:
        def body(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
            with epl.replicate():
                return carry + row, None

        return jax.lax.scan(body, x[0], x)[0]

    assert len(scopes(step)) == 1


def test_plain_named_scopes_in_eager_code_and_in_the_users_jit() -> None:
    def model(x: jax.Array) -> jax.Array:
        with epl.replicate(name="encoder"):
            x = x + 1
        with epl.split(device_count=3):
            return x * 2

    assert model(X)[0, 0] == 4
    text = jax.jit(model).lower(X).as_text(debug_info=True)
    assert "encoder/add" in text
    assert "split/mul" in text
    assert "epl.s" not in text


@given(st.text(max_size=8))
def test_names_are_restricted(name: str) -> None:
    good = bool(name) and all(c.isascii() and (c.isalnum() or c in "_.-") for c in name)
    if good:
        assert epl.replicate(name=name).strategy.name == name
    else:
        with pytest.raises(epl.ScopeError, match="letters, digits"):
            epl.replicate(name=name)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", None])
def test_device_count_is_a_positive_integer(count: object) -> None:
    for make in (epl.replicate, epl.split):
        with pytest.raises(epl.ScopeError, match="device_count"):
            make(device_count=count)  # type: ignore[arg-type]


def test_default_strategy() -> None:
    epl.set_default_strategy(epl.replicate(device_count=2))
    assert default_strategy() == Strategy(Kind.REPLICATE, 2)
    epl.set_default_strategy(None)
    assert default_strategy() is None


def test_default_strategy_must_replicate() -> None:
    for bad in (epl.split(2), "replicate"):
        with pytest.raises(epl.ScopeError, match=r"must be epl.replicate"):
            epl.set_default_strategy(bad)  # type: ignore[arg-type]


def test_init_drops_the_default_strategy() -> None:
    epl.set_default_strategy(epl.replicate())
    epl.init("cpu:1")
    assert default_strategy() is None


@pytest.mark.parametrize("run", [traced, lambda step: jax.jit(step)(X)])
def test_default_strategy_inside_a_step_shows_the_with(run: Callable[[Step], object]) -> None:
    def step(x: jax.Array) -> jax.Array:
        epl.set_default_strategy(epl.replicate(name="all"))
        return x

    with pytest.raises(epl.ScopeError, match=r'`with epl.replicate\(device_count=1, name="all"\):`'):
        run(step)
