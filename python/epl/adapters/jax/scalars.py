"""Arithmetic on scalar integers that are known when a step is compiled, with StableHLO's meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from epl.adapters.jax.simplify import direction, producer

_COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}

_RULES: dict[str, Callable[..., Any]] = {
    "stablehlo.add": np.add,
    "stablehlo.subtract": np.subtract,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.minimum": np.minimum,
    "stablehlo.maximum": np.maximum,
    "stablehlo.and": np.bitwise_and,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.xor": np.bitwise_xor,
    "stablehlo.not": np.invert,
    "stablehlo.convert": np.array,
    "stablehlo.select": np.where,
    "stablehlo.clamp": lambda low, value, high: np.minimum(np.maximum(low, value), high),
    "stablehlo.divide": lambda a, b: (a - np.fmod(a, b)) // b if b else None,
    "stablehlo.remainder": lambda a, b: np.fmod(a, b) if b else None,
}


def known(value: ir.Value) -> np.ndarray | None:
    """The number that a scalar constant of an integer type is, else None."""
    return None if value.type.rank else repeated(value)


def repeated(value: ir.Value) -> np.ndarray | None:
    """The number that every element of a constant of an integer type is, else None."""
    owner = producer(value, "stablehlo.constant")
    if owner is None or (dtype := _dtype(value.type.element_type)) is None:
        return None
    attribute = ir.DenseElementsAttr(owner.attributes["value"])
    return np.array(attribute.get_splat_value().value, dtype) if attribute.is_splat else None


def fold(op: ir.Operation, operands: Sequence[ir.Value]) -> int | None:
    """The number that a scalar operation gives for known operands, else None."""
    if not is_scalar(op):
        return None
    result = evaluate(op, [known(operand) for operand in operands])
    return None if result is None else int(result)


def is_scalar(op: ir.Operation) -> bool:
    """Whether an operation makes one scalar integer by a rule of this file."""
    return has_rule(op) and op.results[0].type.rank == 0


def has_rule(op: ir.Operation) -> bool:
    """Whether an operation makes integers, each of those at the same place, by a rule of this file."""
    if op.name != "stablehlo.compare" and op.name not in _RULES:
        return False
    return _dtype(op.results[0].type.element_type) is not None


def evaluate(op: ir.Operation, numbers: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """What a scalar operation gives for known operands, None if one is not known or it gives nothing."""
    compares = op.name == "stablehlo.compare"
    rule: Callable[..., Any] = _COMPARISONS[direction(op)] if compares else _RULES[op.name]
    if any(number is None for number in numbers):
        return None
    with np.errstate(over="ignore"):
        result = rule(*numbers)
    return None if result is None else np.asarray(result).astype(_dtype(op.results[0].type.element_type))


def _dtype(element: ir.Type) -> np.dtype | None:
    """The dtype of an integer type that numpy has, else None."""
    if not isinstance(element, ir.IntegerType) or element.width not in (1, 8, 16, 32, 64):
        return None
    if element.width == 1:
        return np.dtype(bool)
    return np.dtype(f"{'u' if element.is_unsigned else ''}int{element.width}")
