"""Scalar expressions, the bodies of generic ops: their bounds, their values in NumPy, their MLIR text.

An expression is a tuple: ("in", k), ("index", loop), ("const", number) or (operator, operand, ...).
Operators work on one numeric element type; "lt" and "eq" make i1, "and" and "or" combine i1, "select" takes
one, and "count" makes 0 or 1 of one. All values are integers, whatever the element type, so that results do
not depend on the order of sums as long as no bound exceeds `LIMITS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Expression = tuple[Any, ...]

# Up to here integers are exact: for floats, and with a bit to spare, for integers.
LIMITS = {"f32": 2**24, "f64": 2**50, "i32": 2**30, "i64": 2**50, "i1": 1}

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i1": np.bool_}


@dataclass(frozen=True)
class Operator:
    """An operator on scalars: NumPy's function, MLIR's ops for floats and integers, a bound of the result."""

    compute: Callable[..., Any]
    float_op: str
    int_op: str
    bound: Callable[..., int]
    is_bool: bool = False  # of the result


OPERATORS = {
    "add": Operator(np.add, "arith.addf", "arith.addi", lambda a, b: a + b),
    "sub": Operator(np.subtract, "arith.subf", "arith.subi", lambda a, b: a + b),
    "mul": Operator(np.multiply, "arith.mulf", "arith.muli", lambda a, b: a * b),
    "max": Operator(np.maximum, "arith.maximumf", "arith.maxsi", max),
    "min": Operator(np.minimum, "arith.minimumf", "arith.minsi", max),
    "abs": Operator(np.abs, "math.absf", "math.absi", lambda a: a),
    "lt": Operator(np.less, "arith.cmpf olt,", "arith.cmpi slt,", lambda a, b: 1, is_bool=True),
    "eq": Operator(np.equal, "arith.cmpf oeq,", "arith.cmpi eq,", lambda a, b: 1, is_bool=True),
    "and": Operator(np.logical_and, "arith.andi", "arith.andi", lambda a, b: 1, is_bool=True),
    "or": Operator(np.logical_or, "arith.ori", "arith.ori", lambda a, b: 1, is_bool=True),
    "select": Operator(np.where, "arith.select", "arith.select", lambda c, a, b: max(a, b)),
    "count": Operator(lambda c: c, "arith.uitofp", "arith.extui", lambda c: 1),
}


def is_float(element: str) -> bool:
    return element.startswith("f")


def number(value: int, element: str) -> str:
    """A number as MLIR writes it."""
    if element == "i1":
        return "true" if value else "false"
    return f"{value}.0" if is_float(element) else str(value)


def constant(value: int, element: str) -> str:
    """The op that makes a scalar."""
    return f"arith.constant {number(value, element)}" + ("" if element == "i1" else f" : {element}")


def is_bool(expression: Expression, inputs: list[str]) -> bool:
    """Whether an expression over inputs of these element types makes an i1."""
    if expression[0] == "in":
        return inputs[expression[1]] == "i1"
    return expression[0] in OPERATORS and OPERATORS[expression[0]].is_bool


def bound(expression: Expression, inputs: list[int], extents: tuple[int, ...], limit: int) -> int | None:
    """The largest magnitude of the value; None if it, or one on the way, exceeds `limit`."""
    head, *operands = expression
    if head == "in":
        return inputs[operands[0]]
    if head == "index":
        return extents[operands[0]] - 1
    if head == "const":
        return abs(operands[0])
    bounds = [bound(operand, inputs, extents, limit) for operand in operands]
    if None in bounds:
        return None
    result: int = OPERATORS[head].bound(*bounds)
    return result if result <= limit else None


def evaluate(
    expression: Expression, inputs: list[np.ndarray], indices: list[np.ndarray], element: str
) -> Any:
    """The value for all iterations at once; `indices` holds the index of each loop."""
    head, *operands = expression
    if head == "in":
        return inputs[operands[0]]
    if head == "index":
        return indices[operands[0]].astype(DTYPES[element])
    if head == "const":
        return DTYPES[element](operands[0])
    values = [evaluate(operand, inputs, indices, element) for operand in operands]
    result = OPERATORS[head].compute(*values)
    return result.astype(DTYPES[element]) if head == "count" else result


def clamp(expression: Expression, inputs: list[str]) -> Expression:
    """The same with every number that comes in brought back to [-2, 2]."""
    if expression[0] == "in" and inputs[expression[1]] != "i1":
        return ("min", ("max", expression, ("const", -2)), ("const", 2))
    return tuple(clamp(part, inputs) if isinstance(part, tuple) else part for part in expression)


class Writer:
    """Writes an expression as scalar ops, one a line."""

    def __init__(self, element: str, inputs: list[str], names: Iterator[str]) -> None:
        self.element = element
        self.inputs = inputs  # the element types of the inputs %in0, %in1, ...
        self.names = names
        self.lines: list[str] = []

    def write(self, expression: Expression) -> str:
        """Appends the lines; returns the name of the value."""
        head, *operands = expression
        if head == "in":
            return f"%in{operands[0]}"
        if head == "index":
            return self._write_index(operands[0])
        if head == "const":
            return self._define(constant(operands[0], self.element))
        names = [self.write(operand) for operand in operands]
        is_on_bools = head != "select" and any(is_bool(operand, self.inputs) for operand in operands)
        return self.apply(head, names, "i1" if is_on_bools else self.element)

    def apply(self, head: str, names: list[str], element: str) -> str:
        """Appends one op on named values of that element type; returns the name of its result."""
        operator = OPERATORS[head]
        name = operator.float_op if is_float(self.element) else operator.int_op
        types = f"i1 to {self.element}" if head == "count" else element
        return self._define(f"{name} {', '.join(names)} : {types}")

    def _write_index(self, loop: int) -> str:
        index = self._define(f"linalg.index {loop} : index")
        if not is_float(self.element):
            return self._define(f"arith.index_cast {index} : index to {self.element}")
        integer = self._define(f"arith.index_cast {index} : index to i64")
        return self._define(f"arith.sitofp {integer} : i64 to {self.element}")

    def _define(self, text: str) -> str:
        name = next(self.names)
        self.lines.append(f"{name} = {text}")
        return name
