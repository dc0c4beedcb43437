"""Loops whose length the step computes, with a bound that is stated or shown: JAX's results, or an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import epl
from conftest import Lower
from epl.adapters.jax import flatten
from epl.reports import Check
from steps import assert_near

Step = Callable[..., Any]
X = jnp.arange(1, 25, dtype=jnp.float32).reshape(12, 2) / 8
DEVICES = pytest.mark.parametrize("devices", [1, 2, 3])


def root(x: jax.Array) -> jax.Array:
    """The square root by bisection; the program shows that it takes 40 iterations at most."""

    def goes_on(state: Any) -> jax.Array:
        i, low, high = state
        return (i < 40) & (high - low > 1e-5)

    def halve(state: Any) -> Any:
        i, low, high = state
        middle = (low + high) / 2
        below = middle * middle < x
        return i + 1, jnp.where(below, middle, low), jnp.where(below, high, middle)

    i, low, _ = lax.while_loop(goes_on, halve, (0, 0.0, x + 1))
    return i, low


def shown(x: jax.Array) -> Any:
    with epl.replicate():
        return root(x.sum())


def shown_of_each(x: jax.Array) -> Any:
    """Each element has a length of its own."""
    with epl.replicate():
        return jax.vmap(jax.vmap(root))(x)


def shown_backwards(x: jax.Array) -> Any:
    def goes_on(state: Any) -> jax.Array:
        return jnp.logical_not(jnp.logical_or(state[0] <= 0, (state[1] > 60).all()))

    return lax.while_loop(goes_on, lambda s: (s[0] - 2, s[1] * 1.5), (30, x))


@epl.bounded_while(30)
def of_the_whole_batch(x: jax.Array) -> Any:
    """A predicate that all devices must agree on."""
    with epl.replicate():
        total = lax.while_loop(lambda v: v.sum() < 1000.0, lambda v: v * 1.3 + jnp.sin(v), x)
        return total, total.mean()


def at_once_ended(x: jax.Array) -> Any:
    with epl.bounded_while(1):
        return lax.while_loop(lambda v: v.sum() < 0, lambda v: v * 2, x)


def nested(x: jax.Array) -> Any:
    def inner(v: jax.Array) -> jax.Array:
        with epl.bounded_while(25):
            return lax.while_loop(lambda v: v.sum() < 55.0, lambda v: v + 0.3, v)

    with epl.replicate(), epl.bounded_while(9):
        trip_count = x[3, 1].astype(jnp.int32) + 4
        return lax.while_loop(lambda s: s[0] < trip_count, lambda s: (s[0] + 1, inner(s[1]) * 0.8), (0, x))


def in_a_scan(x: jax.Array) -> Any:
    def body(h: jax.Array, i: jax.Array) -> Any:
        h = lax.while_loop(lambda v: jnp.abs(v).max() > 1.0, lambda v: jnp.sin(v) * 0.7, h)
        return h * 3 + i, h.sum()

    with epl.replicate(), epl.bounded_while(20):
        return lax.scan(body, x, jnp.arange(8.0))


def round_a_scan(x: jax.Array) -> Any:
    def body(h: jax.Array, _: Any) -> Any:
        for _ in range(20):
            h = jnp.sin(h) * 0.999
        return h, h.mean()

    with epl.replicate(), epl.bounded_while(20):
        return lax.while_loop(
            lambda s: s[0].sum() > 5.0, lambda s: lax.scan(body, s[0], jnp.arange(10)), (x, jnp.zeros(10))
        )


def in_a_branch(x: jax.Array) -> Any:
    with epl.replicate():
        return lax.cond(x.sum() > 3, lambda x: root(x.sum()), lambda _: (7, 1.0), x)


@epl.bounded_while(100)
def counted_at_run_time(x: jax.Array) -> Any:
    trip_count = x[0, 1].astype(jnp.int32) + 50
    return lax.fori_loop(0, trip_count, lambda i, v: v.at[i % 12].add(jnp.sin(v[(i + 1) % 12])), x)


def forward_gradient(x: jax.Array) -> Any:
    return jax.jvp(of_the_whole_batch, (x,), (jnp.ones_like(x),))


STEPS = [
    shown,
    shown_of_each,
    shown_backwards,
    of_the_whole_batch,
    at_once_ended,
    nested,
    in_a_scan,
    round_a_scan,
    in_a_branch,
    counted_at_run_time,
    forward_gradient,
]


@DEVICES
@pytest.mark.parametrize("step", STEPS)
def test_values_are_those_of_jax(step: Step, devices: int) -> None:
    parallel = epl.parallelize(step, batch="x", devices=devices)
    assert_near(parallel(X), jax.jit(step)(X), 1e-5)


@pytest.mark.parametrize("scope", [epl.split(device_count=2), epl.replicate(device_count=2)])
def test_split_layers(scope: Any) -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        with scope, epl.bounded_while(12):
            return lax.while_loop(lambda h: (h**2).mean() > 0.05, lambda h: jnp.tanh(h @ w), x)

    w = jnp.array([[0.5, 0.2], [-0.3, 0.6]])
    assert_near(epl.parallelize(step, batch="x", devices=2)(w, X), jax.jit(step)(w, X), 1e-5)


def test_the_reference() -> None:
    epl.parallelize(of_the_whole_batch, batch="x", devices=2).lower(X).compile().check(X)


KEY = jax.random.key(7)
SHAPES = jnp.array([0.3, 1.0, 2.5, 11.0])
SAMPLERS: dict[str, Callable[[jax.Array], Any]] = {
    "gamma": lambda key: jax.random.gamma(key, SHAPES),
    "beta": lambda key: jax.random.beta(key, SHAPES, 2.0),
    "poisson": lambda key: jax.random.poisson(key, SHAPES * 2),
    "binomial": lambda key: jax.random.binomial(key, 20.0, SHAPES / 12),
    "dirichlet": lambda key: jax.random.dirichlet(key, SHAPES, (2,)),
    "t": lambda key: jax.random.t(key, SHAPES),
    "truncated_normal": lambda key: jax.random.truncated_normal(key, -1.0, SHAPES, (4,)),
    "own": lambda key: lax.while_loop(
        lambda k: jax.random.uniform(k) < 0.7, lambda k: jax.random.split(k)[0], key
    ),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_that_reject(name: str) -> None:
    def step(key: jax.Array) -> Any:
        with epl.replicate(), epl.bounded_while(6):
            return SAMPLERS[name](key)

    assert_near(epl.parallelize(step, devices=2)(KEY), jax.jit(step)(KEY), 1e-5)


def test_samples_for_a_batch_and_their_gradient() -> None:
    @epl.bounded_while(6)
    def loss(a: jax.Array, keys: jax.Array, x: jax.Array) -> jax.Array:
        draws = jax.vmap(lambda key, row: jax.random.gamma(key, jnp.exp(a) + row))(keys, x)
        return jnp.log(draws).mean()

    def step(a: jax.Array, keys: jax.Array, x: jax.Array) -> Any:
        with epl.replicate():
            return lax.stop_gradient(loss(a, keys, x))

    keys = jax.random.split(KEY, 12)
    parallel = epl.parallelize(step, batch=("keys", "x"), devices=2)
    assert_near(parallel(jnp.zeros(2), keys, X), jax.jit(step)(jnp.zeros(2), keys, X), 1e-5)


def test_the_incomplete_gamma_function_and_its_gradient() -> None:
    def step(a: jax.Array, x: jax.Array) -> Any:
        with epl.replicate(), epl.bounded_while(60):
            return jax.value_and_grad(lambda a: jax.scipy.special.gammainc(a, x).mean())(a)

    found = epl.parallelize(step, batch="x", devices=2)(jnp.float32(1.5), X)
    assert_near(found, jax.jit(step)(jnp.float32(1.5), X), 1e-4)


@DEVICES
def test_a_loop_that_does_not_end_is_an_error_that_says_what_to_do(devices: int) -> None:
    def step(x: jax.Array, trip_count: jax.Array, bound: int) -> Any:
        with epl.replicate(), epl.bounded_while(bound):
            return lax.fori_loop(0, trip_count, lambda _, v: v + x.mean(), x)

    parallel = epl.parallelize(step, batch="x", static_argnames="bound", devices=devices)
    assert_near(parallel(X, 8, bound=8), jax.jit(step, static_argnames="bound")(X, 8, bound=8), 1e-6)
    with pytest.raises(epl.StepError) as error:
        parallel(X, 9, bound=8)
    line = f"{__file__}:{step.__code__.co_firstlineno + 2}"
    assert str(error.value) == (
        f"{line}: the loop did not end within 8 iterations: raise the bound of epl.bounded_while (step)"
    )
    assert_near(parallel(X, 9, bound=9), X + 9 * X.mean(), 1e-6)  # what it says


def test_an_inner_loop_that_does_not_end() -> None:
    def step(x: jax.Array, n: jax.Array) -> Any:
        def inner(total: jax.Array, i: jax.Array) -> Any:
            return lax.fori_loop(0, i, lambda _, v: v + x.sum(), total), None

        with epl.replicate(), epl.bounded_while(4):
            return lax.fori_loop(0, n, lambda _, v: lax.scan(inner, v, jnp.arange(6) // 5 * n)[0], 0.0)

    parallel = epl.parallelize(step, batch="x", devices=2)
    assert_near(parallel(X, 4), 16 * X.sum(), 1e-5)
    with pytest.raises(epl.StepError, match="within 4 iterations"):
        parallel(X, 5)


def test_a_bound_that_only_seems_to_be_shown_is_checked() -> None:
    """A counter that stands still where the user says so looks like one of an element that has ended."""

    def step(x: jax.Array) -> Any:
        def body(state: Any) -> Any:
            i, trip_count, v = state
            return jnp.where(v.sum() > 80, i + 1, i), trip_count + 1, v * 1.1

        return lax.while_loop(lambda s: s[0] < 5, body, (0, 0, x))

    parallel = epl.parallelize(step, batch="x", devices=2)
    with pytest.raises(epl.StepError, match="within 5 iterations: state a bound with epl"):
        parallel(X)
    stated = epl.parallelize(epl.bounded_while(20)(step), batch="x", devices=2)  # what it says
    assert int(jax.jit(step)(X)[1]) in range(6, 20)
    assert_near(stated(X), jax.jit(step)(X), 1e-5)


def bounds_of(lower: Lower, step: Step, *args: Any) -> list[str]:
    found = [report.what for report in lower(step, *args).reports]
    return [re.findall(r"\d+", what.message)[0] for what in found if isinstance(what, Check)]


def test_the_innermost_bound_counts(lower: Lower) -> None:
    @epl.bounded_while(5)
    def step(x: jax.Array) -> Any:
        double = jax.jit(lambda x: lax.while_loop(lambda v: v.sum() < 9, lambda v: v * 2, x))
        with epl.bounded_while(7):
            a = double(x)
        with epl.bounded_while(11), jax.named_scope("layer"):
            b = jax.vmap(double)(x)
        return a, b, double(x)

    assert bounds_of(lower, step, X) == ["7", "11", "5"]


def test_what_needs_no_check_has_none(lower: Lower) -> None:
    assert bounds_of(lower, shown, X) == []
    assert bounds_of(lower, epl.bounded_while(40)(shown), X) == []
    assert bounds_of(lower, epl.bounded_while(39)(shown), X) == ["39"]
    assert (
        bounds_of(lower, epl.bounded_while(2)(lambda x: lax.fori_loop(0, 9, lambda _, v: v * 2, x)), X) == []
    )


def test_loops_of_many_operations_name_the_remedy(lower: Lower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten, "MAX_OPERATIONS", 60)

    def step(x: jax.Array, bound: int) -> Any:
        with epl.bounded_while(bound):
            return lax.while_loop(lambda v: v.sum() < 9, lambda v: v.at[v[0, 0].astype(int)].add(1.0), x)

    with pytest.raises(
        epl.UnsupportedError, match=r"operations in all .*: lower the bounds of epl.bounded_while"
    ):
        lower(lambda x: (step(x, 90), step(x * 2, 90), step(x * 3, 90), step(x * 4, 90)), X)
    assert lower(lambda x: step(x, 3), X)  # what it says


def test_without_a_bound_the_error_is_the_remedy(lower: Lower) -> None:
    def step(x: jax.Array) -> Any:
        return lax.while_loop(lambda v: v.sum() < 1000, lambda v: v * 2, x)

    with pytest.raises(
        epl.UnsupportedError, match=r"write `with epl.bounded_while\(16\):` round it"
    ) as error:
        lower(step, X)
    assert error.value.place is not None
    assert error.value.place.line == step.__code__.co_firstlineno + 1

    def bounded(x: jax.Array) -> Any:
        with epl.bounded_while(16):
            return step(x)

    assert_near(epl.parallelize(bounded, batch="x", devices=2)(X), jax.jit(step)(X), 1e-6)


@pytest.mark.parametrize("bound", [0, -1, 2.0, True, "8", None])
def test_bounds_that_are_none(bound: Any) -> None:
    with pytest.raises(epl.ArgumentError, match="a number of iterations, at least 1, found"):
        epl.bounded_while(bound)


def test_outside_of_a_step_a_bound_has_no_effect() -> None:
    with epl.bounded_while(2):
        value = jax.jit(lambda x: lax.while_loop(lambda v: v < 100, lambda v: v + 1, x))(0)
    np.testing.assert_array_equal(value, 100)
