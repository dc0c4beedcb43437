"""Scalar expressions, the bodies of loop nests: their types, bounds, values in NumPy, MLIR text.

An expression is a tuple:
    ("in", k)                     the element of operand k at this iteration
    ("load", k, index, ...)       an element of operand k, a captured tensor, at computed indices
    ("index", loop)               the index of a loop, of element type index
    ("const", number, element, hoisted)    hoisted: made outside of the body
    ("to", element, operand)      a conversion
    (operator, operand, ...)      one of `OPERATORS`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensors import LIMITS, Value, constant, convert, is_float

Expression = tuple[Any, ...]


@dataclass(frozen=True)
class Operator:
    """An operator on scalars of one element type: what it computes on int64, its op, a bound of the result.

    An op that is "" does not exist for floats or for integers. `makes` is the element type of the result if
    it is another one.
    """

    compute: Callable[..., Any]
    float_op: str
    int_op: str
    bound: Callable[..., int]
    makes: str = ""


def fill_bits(*bounds: int) -> int:
    return 1 << max(bounds).bit_length()  # a negative number has all bits above its own


def _larger(a: int, b: int) -> int:
    return max(a, b)


def _same(a: int) -> int:
    return a


def _one(a: int, b: int) -> int:
    return 1


OPERATORS = {
    "add": Operator(np.add, "arith.addf", "arith.addi", lambda a, b: a + b),
    "sub": Operator(np.subtract, "arith.subf", "arith.subi", lambda a, b: a + b),
    "mul": Operator(np.multiply, "arith.mulf", "arith.muli", lambda a, b: a * b),
    "max": Operator(np.maximum, "arith.maximumf", "arith.maxsi", _larger),
    "min": Operator(np.minimum, "arith.minimumf", "arith.minsi", _larger),
    "maxnum": Operator(np.maximum, "arith.maxnumf", "", _larger),
    "minnum": Operator(np.minimum, "arith.minnumf", "", _larger),
    "abs": Operator(np.abs, "math.absf", "math.absi", _same),
    "neg": Operator(np.negative, "arith.negf", "", _same),
    "ceil": Operator(np.positive, "math.ceil", "", _same),
    "floor": Operator(np.positive, "math.floor", "", _same),
    "roundeven": Operator(np.positive, "math.roundeven", "", _same),
    "fma": Operator(lambda a, b, c: a * b + c, "math.fma", "", lambda a, b, c: a * b + c),
    "div": Operator(lambda a, b: np.fix(a / b).astype(int), "", "arith.divsi", lambda a, b: a),
    "floordiv": Operator(np.floor_divide, "", "arith.floordivsi", lambda a, b: a),
    "rem": Operator(np.fmod, "", "arith.remsi", lambda a, b: a),
    "bitand": Operator(np.bitwise_and, "", "arith.andi", fill_bits),
    "bitor": Operator(np.bitwise_or, "", "arith.ori", fill_bits),
    "bitxor": Operator(np.bitwise_xor, "", "arith.xori", fill_bits),
    "shift": Operator(np.right_shift, "", "arith.shrsi", lambda a, b: a),
    "lt": Operator(np.less, "arith.cmpf olt,", "arith.cmpi slt,", _one, "i1"),
    "le": Operator(np.less_equal, "arith.cmpf ule,", "arith.cmpi sle,", _one, "i1"),
    "gt": Operator(np.greater, "arith.cmpf ogt,", "arith.cmpi sgt,", _one, "i1"),
    "ge": Operator(np.greater_equal, "arith.cmpf uge,", "arith.cmpi sge,", _one, "i1"),
    "eq": Operator(np.equal, "arith.cmpf oeq,", "arith.cmpi eq,", _one, "i1"),
    "ne": Operator(np.not_equal, "arith.cmpf une,", "arith.cmpi ne,", _one, "i1"),
    "and": Operator(np.bitwise_and, "", "arith.andi", _one),
    "or": Operator(np.bitwise_or, "", "arith.ori", _one),
    "xor": Operator(np.bitwise_xor, "", "arith.xori", _one),
    "select": Operator(
        lambda c, a, b: np.where(c, a, b), "arith.select", "arith.select", lambda c, a, b: max(a, b)
    ),
}


def _make_no_integer(*values: Any) -> Any:
    raise TypeError("makes no integers of integers")


# What makes no integers of integers: in programs on floats only (floats.py). Bounds are of ordinary numbers.
FUNCTIONS: dict[str, Callable[[int], int]] = {
    "exp": lambda a: math.ceil(math.exp(min(a, 100))),
    "expm1": lambda a: math.ceil(math.exp(min(a, 100))),
    **dict.fromkeys(("log", "log1p", "sqrt"), _same),
    **dict.fromkeys(("tanh", "erf", "sin", "cos"), lambda a: 1),
    "atan": lambda a: 2,
    "rsqrt": lambda a: a + 1,
}
OPERATORS |= {
    name: Operator(_make_no_integer, f"math.{name}", "", bound) for name, bound in FUNCTIONS.items()
}
OPERATORS["divide"] = Operator(_make_no_integer, "arith.divf", "", lambda a, b: a + b)

COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]


def const(value: int, element: str, hoisted: bool = False) -> Expression:
    return ("const", value, element, hoisted)


def to(element: str, operand: Expression, operands: Sequence[Value]) -> Expression:
    """The operand as that element type."""
    return operand if get_element(operand, operands) == element else ("to", element, operand)


def get_element(expression: Expression, operands: Sequence[Value]) -> str:
    """The element type of the value."""
    head = expression[0]
    if head in ("in", "load"):
        return operands[expression[1]].type.element
    if head == "index":
        return "index"
    if head == "const":
        return str(expression[2])
    if head == "to":
        return str(expression[1])
    return OPERATORS[head].makes or get_element(expression[-1], operands)


def get_parts(expression: Expression) -> Iterator[Expression]:
    """The operands of an operator, a conversion or a load."""
    return (part for part in expression if isinstance(part, tuple))


def makes_integers(expression: Expression, operands: Sequence[Value]) -> bool:
    """Whether floats become integers somewhere in it."""
    if any(makes_integers(part, operands) for part in get_parts(expression)):
        return True
    to_integer = expression[0] == "to" and not is_float(expression[1])
    return to_integer and is_float(get_element(expression[2], operands))


def get_loaded(expression: Expression) -> set[int]:
    """The operands of which it loads elements."""
    loaded = {expression[1]} if expression[0] == "load" else set()
    return loaded.union(*map(get_loaded, get_parts(expression)))


def renumber(expression: Expression, places: dict[int, int]) -> Expression:
    """The same with what it loads from at other places among the operands."""
    parts = tuple(renumber(part, places) if isinstance(part, tuple) else part for part in expression)
    return ("load", places[parts[1]], *parts[2:]) if parts[0] == "load" else parts


def bound(expression: Expression, operands: Sequence[Value], extents: tuple[int, ...]) -> int | None:
    """The largest magnitude of the value; None if it, or one on the way, exceeds what its type carries."""
    bounds: list[int] = []
    for part in get_parts(expression):
        if (most := bound(part, operands, extents)) is None:
            return None
        bounds.append(most)
    head = expression[0]
    if head in ("in", "load"):
        result = operands[expression[1]].bound
    elif head == "index":
        result = max(extents[expression[1]] - 1, 0)
    elif head == "const":
        result = abs(expression[1])
    else:
        result = bounds[0] if head == "to" else OPERATORS[head].bound(*bounds)
    return result if result <= LIMITS[get_element(expression, operands)] else None


def evaluate(
    expression: Expression,
    inputs: Sequence[np.ndarray],
    arrays: Sequence[np.ndarray],
    indices: list[np.ndarray],
) -> Any:
    """The int64 values for all iterations at once.

    `inputs` holds the elements that the iterations read, `arrays` the whole operands, `indices` the indices.
    """
    values = [evaluate(part, inputs, arrays, indices) for part in get_parts(expression)]
    head = expression[0]
    if head == "in":
        return inputs[expression[1]]
    if head == "load":
        return arrays[expression[1]][tuple(values)]
    if head == "index":
        return indices[expression[1]]
    if head == "const":
        return np.int64(expression[1])
    return values[0] if head == "to" else np.asarray(OPERATORS[head].compute(*values), np.int64)


def clamp(expression: Expression, operands: Sequence[Value], limit: int = 2) -> Expression:
    """The same with every number that comes in brought back to [-limit, limit]."""
    if expression[0] not in ("in", "load"):
        return tuple(clamp(part, operands, limit) if isinstance(part, tuple) else part for part in expression)
    element = get_element(expression, operands)
    if element == "i1":
        return expression
    return ("min", ("max", expression, const(-limit, element)), const(limit, element))


class Writer:
    """Writes expressions as scalar ops, one a line."""

    def __init__(self, operands: Sequence[Value], names: Sequence[str], fresh: Iterator[str]) -> None:
        self.operands = operands
        self.names = names  # of the operands, outside
        self.fresh = fresh
        self.outside: list[str] = []  # lines before the op
        self.lines: list[str] = []

    def write(self, expression: Expression) -> str:
        """Appends the lines; returns the name of the value."""
        head = expression[0]
        if head == "in":
            return f"%in{expression[1]}"
        if head == "index":
            return self._define(f"linalg.index {expression[1]} : index")
        if head == "const":
            _, value, element, hoisted = expression
            return self._define(constant(value, element), self.outside if hoisted else self.lines)
        names = [self.write(part) for part in get_parts(expression)]
        if head == "to":
            return self.convert(names[0], get_element(expression[2], self.operands), expression[1])
        if head == "load":
            tensor = self.operands[expression[1]].type
            return self._define(f"tensor.extract {self.names[expression[1]]}[{', '.join(names)}] : {tensor}")
        return self.apply(head, names, get_element(expression[-1], self.operands))

    def apply(self, head: str, names: list[str], element: str) -> str:
        """Appends one op on named values of that element type; returns the name of its result."""
        return self._define(f"{get_op(head, element)} {', '.join(names)} : {element}")

    def convert(self, name: str, source: str, target: str) -> str:
        for op, element in convert(source, target):
            name = self._define(f"{op} {name} : {source} to {element}")
            source = element
        return name

    def _define(self, text: str, lines: list[str] | None = None) -> str:
        name = next(self.fresh)
        (self.lines if lines is None else lines).append(f"{name} = {text}")
        return name


def get_op(head: str, element: str) -> str:
    """The MLIR op of an operator on that element type."""
    return OPERATORS[head].float_op if is_float(element) else OPERATORS[head].int_op
