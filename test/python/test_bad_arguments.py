"""Arguments of a wrong type or value: an error of EPL that names the argument and what was found."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl

S, X = jnp.zeros(()), np.ones((4,), np.float32)


def step(s: Any, x: Any, rate: Any = 1) -> Any:
    return s + x.sum() * rate, x * 2


def parallelize(**options: Any) -> epl.Parallelized:
    return epl.parallelize(step, **{"state": "s", "batch": "x", "devices": 2, **options})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: epl.Config(5), "the configuration must be a dict .*, found 5"),
        (lambda: epl.Config([("zero.level", "")]), "the configuration must be a dict"),
        (lambda: epl.Config({5: 1}), 'unknown configuration key "5"'),
        (lambda: epl.Config({"amp.loss_scale": [1]}), r'"amp.loss_scale" must be .*, found \[1\]'),
        (lambda: epl.Config({"amp.loss_scale": 10**400}), '"amp.loss_scale" must be'),
        (lambda: epl.init(2.5), "devices must be .*, found 2.5"),
        (lambda: epl.init(b"cpu:2"), "devices must be .*, found b'cpu:2'"),
        (lambda: epl.init("cpu:\u0663"), "devices must be .*, found"),
        (lambda: epl.init("\ud800"), r"devices must be .*, found .*ud800"),
        (lambda: epl.init(10**30), "at most 1024 devices are supported, found"),
        (lambda: epl.init(config=5), "the configuration must be a dict"),
        (lambda: parallelize(config=5), "the configuration must be a dict"),
    ],
)
def test_settings(action: Callable[[], Any], message: str) -> None:
    with pytest.raises(epl.ConfigError, match=message):
        action()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: epl.parallelize(5), "function must be a step, a Python function, found 5"),
        (lambda: epl.parallelize("params"), "function must be a step"),
        (lambda: parallelize(state=3), "state names 3, but step has the parameters"),
        (lambda: parallelize(state=None), "state must be names or positions .*, found None"),
        (lambda: parallelize(batch=5.0), "batch must be names or positions .*, found 5.0"),
        (lambda: parallelize(static_argnames=5.0), "static_argnames must be names .*, found 5.0"),
        (lambda: parallelize(donate="yes"), "donate must be True or False, found 'yes'"),
        (lambda: parallelize(name=5), "name must be a string, found 5"),
        (lambda: epl.load(5), "path must be that of a file, in UTF-8, found 5"),
        (lambda: epl.load("step.eplan", like=5), "like must be a lowered step or None, found 5"),
    ],
)
def test_declarations(action: Callable[[], Any], message: str) -> None:
    with pytest.raises(epl.ArgumentError, match=message):
        action()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((S,), "step: missing a required argument: 'x'"),
        ((S, X, 1, 2), "step: too many positional arguments"),
        ((S, "abc"), '"x" must be an array, found str'),
        ((S, np.array(["a"])), '"x" must hold numbers that JAX has, found an array of <U1'),
        ((S, np.array([object()])), '"x" must hold numbers'),
        ((S, jax.ShapeDtypeStruct((4,), np.float32)), r"a step runs on arrays, .* for lower\(\)"),
        ((S, X, 2**40), "1099511627776 does not fit int32"),
        ((S, X, 2**70), "does not fit int"),
    ],
)
def test_calls(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(epl.ArgumentError, match=message):
        parallelize()(*arguments)


def test_compiled_steps(tmp_path: Path) -> None:
    lowered = parallelize().lower(S, X)
    with pytest.raises(epl.ArgumentError, match=r"stage must be one of input, .*, found 5"):
        lowered.as_text(5)  # type: ignore[arg-type]
    compiled = lowered.compile()
    for name in ("rtol", "atol"):
        for value in (math.nan, math.inf, -1e-3, "1", True):
            with pytest.raises(
                epl.ArgumentError, match=f"{name} must be a finite number of at least 0, found"
            ):
                compiled.check(S, X, **{name: value})
    for path in (5, "", "a\0b", b"m.eplan", "\udcff"):
        for use in (compiled.save, lambda path: compiled.trace(path).__enter__()):
            with pytest.raises(epl.ArgumentError, match="path must be that of a file, in UTF-8, found"):
                use(path)


def test_flat_calls_of_a_loaded_plan(tmp_path: Path) -> None:
    parallelize().lower(S, X).compile().save(tmp_path / "m.eplan")
    plan = epl.load(tmp_path / "m.eplan", devices=2)
    with pytest.raises(epl.ArgumentError, match=r"m takes 2 arrays \(s, x\), found 1"):
        plan(S)
    with pytest.raises(epl.ArgumentError, match='"x" must be an array, found NoneType'):
        plan(S, None)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X.astype(">f4"), '"x" must hold numbers that JAX has, found an array of >f4'),
        (np.ma.array(X, mask=X > 0), r'"x" is a masked array: call filled\(\)'),
    ],
)
def test_arrays_that_jax_has_not(x: Any, message: str) -> None:
    step = parallelize()
    for _ in range(2):
        with pytest.raises(epl.ArgumentError, match=message):
            step(S, x)
        step(S, X)  # known from now on, and of the same shape and dtype
