"""How results are compared with their reference."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from epl.comparison import CheckReport, compare

NAN, INF = np.nan, np.inf


def passes(found: object, expected: object, rtol: float = 1e-5, atol: float = 1e-6) -> bool:
    return compare("r", jnp.asarray(found), jnp.asarray(expected), rtol=rtol, atol=atol).passes


@given(arrays(np.float32, array_shapes(min_dims=0, min_side=0), elements=st.floats(width=32)))
def test_every_array_equals_itself(value: np.ndarray) -> None:
    difference = compare("r", value, value, rtol=0, atol=0)
    assert difference.passes
    assert difference.largest == 0


def test_the_scale_is_that_of_the_tensor() -> None:
    assert passes([1000.0, 0.001], [1000.0, 0.002])
    assert not passes([0.001], [0.002])
    assert not passes([1000.0, 0.1], [1000.0, 0.2])
    assert passes([1000.0, 0.1], [1000.0, 0.2], rtol=1e-3)
    assert passes([0.1], [0.2], atol=0.2)


def test_nan_and_infinity_must_be_equal() -> None:
    assert passes([NAN, INF, -INF, 1.0], [NAN, INF, -INF, 1.0])
    assert not passes([NAN, 1.0], [1.0, 1.0])
    assert not passes([1.0, 1.0], [NAN, 1.0])
    assert not passes([INF], [-INF])
    assert not passes([1e30], [INF])


def test_integers_bools_and_keys_must_be_equal() -> None:
    assert not passes([1_000_000], [1_000_001], rtol=1)
    assert not passes([True], [False], atol=9)
    keys = jax.random.split(jax.random.key(0))
    assert passes(keys, keys)
    assert not passes(keys, keys[::-1], atol=1e12)


def test_the_report_shows_what_fails_first() -> None:
    cases = {"fine": [1.0, 1.0], "bad": [1.0, 2.0], "worse": [1.0, 9.0]}
    report = CheckReport(
        tuple(
            compare(name, np.float32(found), np.float32(expected), rtol=1e-5, atol=1e-6)
            for name, (found, expected) in cases.items()
        )
    )
    names = [line.partition(":")[0] for line in str(report).splitlines()]
    assert names == ["worse", "bad", "fine"]
    assert str(report).splitlines()[0].endswith("beyond tolerance")
