"""The ranges that results of random programs on floats are compared with: what is right lies inside, what is
wrong outside."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import expression as ex
import ranges as r
from check import Case, make_inputs
from floats import find_difference
from nest import Nest
from program import Program
from range_functions import apply_function, find_extreme, reduce_range
from run import make_case
from tensors import DTYPES

Array = np.ndarray[Any, Any]
INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def _allow_infinities() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def draw(count: int, element: str, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-3, 3, count).astype(DTYPES[element])


def test_a_sum_in_any_order_and_precision_is_inside() -> None:
    for element in ("f32", "f64", "bf16", "f16"):
        numbers = draw(300, element)
        expected = reduce_range("sum", r.make_exact(numbers), (0,), element)
        exact = numbers.astype(np.float64)
        carried = np.float32 if element in ("bf16", "f16") else DTYPES[element]
        for order in (exact, exact[::-1], np.sort(exact)):
            found = np.add.reduce(order.astype(carried), dtype=carried).astype(DTYPES[element])
            assert r.contains(expected, found), element
        parts = [exact[:100].sum().astype(DTYPES[element]), exact[100:].sum().astype(DTYPES[element])]
        assert r.contains(expected, np.add(*parts))
        assert not r.contains(expected, (exact.sum() + 40).astype(DTYPES[element])), element


def test_a_pending_sum_passes_a_product() -> None:
    """Of large addends that cancel, each is rounded after the product, too."""
    numbers = np.array([1e6, 1 / 3, -1e6 + 0.25], np.float32)
    total = reduce_range("sum", r.make_exact(numbers), (0,), "f32")
    expected = r.round_to(r.multiply(total, r.make_exact(np.float32(1 / 3))), "f32")
    found = sum((number * np.float32(1 / 3) for number in numbers), np.float32(0))
    assert r.contains(expected, found)
    assert not r.contains(expected, np.float32(found + 1))


@pytest.mark.parametrize(
    ("numbers", "low", "high", "nan"),
    [
        ([1, INF], INF, INF, r.NEVER),
        ([INF, -INF], 0, 0, r.ALWAYS),
        ([1, NAN], 0, 0, r.ALWAYS),
        ([3e38, 3e38, -3e38], 3e38, INF, r.NEVER),  # one order overflows
        ([3e38, 3e38, -3e38, -3e38], -INF, INF, r.MAYBE),  # in both directions
        ([1e-39, 0], 0, 1e-38, r.NEVER),  # a denormal
    ],
)
def test_a_sum_of_special_numbers(numbers: list[float], low: float, high: float, nan: int) -> None:
    made = reduce_range("sum", r.make_exact(np.array(numbers, np.float32)), (0,), "f32")
    assert made["nan"] == nan
    if nan != r.MAYBE:
        assert made["low"] <= low
        assert high <= made["high"] <= max(3 * high, high)
    assert r.contains(made, np.float32(INF)) == (nan == r.MAYBE or high == INF)


def test_what_may_be_equal_has_either_outcome() -> None:
    a, b = (r.round_to(r.make_exact(np.array([0.1])), "f32") for _ in range(2))
    made = r.select(r.COMPARE["lt"](a, b), r.make_exact(np.array([1.0])), r.make_exact(np.array([2.0])))
    assert [r.contains(made, np.array([x])).item() for x in (1.0, 2.0, 0.5, NAN)] == [
        True,
        True,
        False,
        False,
    ]
    far = r.make_exact(np.array([0.2]))
    assert r.is_exact(r.COMPARE["lt"](a, far)).all()


def test_nan_is_neither_less_nor_more() -> None:
    nan, one = r.make_exact(np.array(NAN)), r.make_exact(np.array(1.0))
    assert [float(r.COMPARE[head](nan, one)["high"]) for head in ("lt", "le", "eq", "ne")] == [0, 1, 0, 1]
    assert r.maximum(nan, one)["nan"] == r.ALWAYS
    assert r.contains(r.maximum_number(nan, one), np.array(1.0))
    value, place = find_extreme("max", r.make_exact(np.array([NAN, 2.0, 1.0])), 0, "f32")
    assert (float(value["low"]), float(place["low"]), float(place["high"])) == (2, 1, 1)


def test_functions_below_what_they_are_defined_for() -> None:
    numbers = r.make_exact(np.array([-1.0, 0.0, 4.0]))
    assert list(apply_function("sqrt", numbers, "f32")["nan"]) == [r.ALWAYS, r.NEVER, r.NEVER]
    logs = apply_function("log", numbers, "f32")
    assert (logs["nan"][0], logs["high"][1]) == (r.ALWAYS, -INF)
    assert r.contains(logs[2], np.float32(np.log(4.0)))


# Wrong programs


def replace_operator(program: Program) -> Program | None:
    """The program with another operator, in the first body that has one."""
    others = {"add": "sub", "sub": "add", "mul": "add", "max": "min", "min": "max"}
    for position, op in enumerate(program.ops):
        if type(op) is Nest and op.outputs[0].body[0] in others:
            body = (others[op.outputs[0].body[0]], *op.outputs[0].body[1:])
            outputs = (dataclasses.replace(op.outputs[0], body=body), *op.outputs[1:])
            changed = dataclasses.replace(op, outputs=outputs)
            return dataclasses.replace(
                program, ops=(*program.ops[:position], changed, *program.ops[position + 1 :])
            )
    return None


def test_nearly_all_wrong_programs_are_outside() -> None:
    """Of programs whose exact results change with an operator."""
    changed, seen = 0, 0
    for seed in range(0, 400, 8):
        case = make_case(seed)
        assert isinstance(case, Case)
        wrong = replace_operator(case.program)
        if wrong is None:
            continue
        inputs = make_inputs(case.program)
        pairs = list(zip(case.program.evaluate_ranges(inputs), wrong.evaluate_ranges(inputs), strict=True))
        apart = [((a["high"] < b["low"]) | (b["high"] < a["low"])).any() for a, b in pairs]
        middles = [(a, (b["low"] + b["high"]) / 2) for a, b in pairs]
        differs = any(not np.array_equal(a, b) for a, b in pairs)
        changed += differs
        seen += any(apart) or any(bool(find_difference(m, a)) for a, m in middles if np.isfinite(m).all())
    assert changed >= 15
    assert seen >= 0.9 * changed


def test_operators_of_floats_have_no_integers() -> None:
    with pytest.raises(TypeError, match="no integers"):
        ex.OPERATORS["exp"].compute(1)
