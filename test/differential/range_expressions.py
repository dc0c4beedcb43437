"""The ranges of scalar expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import expression as ex
import numpy as np
from range_functions import FUNCTIONS, apply_function
from ranges import (
    COMPARE,
    EXTREMES,
    ROUNDED,
    UNROUNDED,
    Array,
    choose_denormals,
    convert,
    flush,
    is_exact,
    is_finite,
    is_zero,
    join,
    make_anything,
    make_exact,
    multiply,
    round_to,
    select,
)
from tensors import Value, is_float


def evaluate(
    expression: ex.Expression,
    operands: Sequence[Value],
    inputs: Sequence[Array],
    arrays: Sequence[Array],
    indices: list[Array],
) -> Array:
    """As `expression.evaluate`, whose arguments these are, on ranges; `operands` say the types."""
    parts = list(ex.get_parts(expression))
    values = [evaluate(part, operands, inputs, arrays, indices) for part in parts]
    head = expression[0]
    if head == "in":
        return inputs[expression[1]]
    if head == "load":
        return _load(arrays[expression[1]], values, ex.get_element(expression, operands))
    if head == "index":
        return make_exact(indices[expression[1]])
    if head == "const":
        return make_exact(np.float64(expression[1]))
    element = ex.get_element(parts[-1], operands)
    if head == "to":
        return convert(values[0], element, expression[1])
    if head == "select":
        return _select(values, element)
    if is_float(element):
        return _compute(head, values, element)
    return _compute_integers(head, values, ex.OPERATORS[head].makes or element)


def evaluate_products(body: ex.Expression, operands: Sequence[Value], *rest: Any) -> Array:
    """Of products that are added up. Libraries may leave out those of zeros: zero times what is not finite is
    zero, or NaN."""
    if body[0] != "mul" or not is_float(element := ex.get_element(body, operands)):
        return evaluate(body, operands, *rest)
    a, b = (flush(evaluate(part, operands, *rest), element) for part in ex.get_parts(body))
    left_out = [is_zero(x) & ~is_finite(y) for x, y in ((a, b), (b, a))]
    made = np.where(
        left_out[0] | left_out[1],
        join(make_exact(np.zeros(())), make_exact(np.array(np.nan))),
        multiply(a, b),
    )
    return round_to(made, element)


def _load(array: Array, values: list[Array], element: str) -> Array:
    """An element; any, where an index is not known."""
    values = list(np.broadcast_arrays(*values)) if values else []
    known = np.logical_and.reduce([is_exact(value) for value in values]) if values else np.True_
    place = tuple(np.where(known, value["low"], 0).astype(np.int64) for value in values)
    return np.where(known, array[place], make_anything((), element))


def _select(values: list[Array], element: str) -> Array:
    """By a comparison of both sides it may be compiled as a maximum, which flushes."""
    condition, *sides = values
    return select(condition, *(flush(side, element) if is_float(element) else side for side in sides))


def _compute(head: str, values: list[Array], element: str) -> Array:
    if head in FUNCTIONS:
        return apply_function(head, values[0], element)
    values = [flush(value, element) for value in values]
    if head in COMPARE:
        return COMPARE[head](*values)
    if head in ROUNDED:
        return round_to(ROUNDED[head](*values), element)
    made = UNROUNDED[head](*values)
    return choose_denormals(made, values, element) if head in EXTREMES else made


def _compute_integers(head: str, values: list[Array], makes: str) -> Array:
    """Of integers and booleans: exact, if all operands are."""
    numbers = [np.where(is_exact(value), value["low"], 0).astype(np.int64) for value in values]
    made = make_exact(np.asarray(ex.OPERATORS[head].compute(*numbers), np.int64))
    known = np.logical_and.reduce(np.broadcast_arrays(*map(is_exact, values)))
    return np.where(known, made, make_anything((), makes))
