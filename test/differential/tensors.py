"""Element types, tensor types and values; all values are integers, whatever the type that carries them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

# Up to here integers are exact, whatever the order of a sum; integer types have a bit to spare.
LIMITS = {
    "bf16": 2**8,
    "f16": 2**11,
    "f32": 2**24,
    "f64": 2**50,
    "i1": 1,
    "i8": 2**7 - 1,
    "i16": 2**14,
    "i32": 2**30,
    "i64": 2**50,
    "index": 2**30,
}

DTYPES = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}

INFINITIES = {"bf16": "0x7F80", "f16": "0x7C00", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}


@dataclass(frozen=True)
class Type:
    shape: tuple[int, ...]
    element: str

    def __str__(self) -> str:
        return "tensor<" + "".join(f"{extent}x" for extent in self.shape) + self.element + ">"


@dataclass(frozen=True)
class Value:
    """What an op or an argument makes, of magnitude `bound` at most. Ids are unique in a program."""

    id: int
    type: Type
    bound: int


def is_float(element: str) -> bool:
    return "f" in element


def is_integer(element: str) -> bool:
    return element[0] == "i" and element not in ("i1", "index")


def get_width(element: str) -> int:
    return int(element.lstrip("bfi"))


def number(value: int, element: str) -> str:
    """A number as MLIR writes it."""
    if element == "i1":
        return "true" if value else "false"
    return f"{value}.0" if is_float(element) else str(value)


def constant(value: int, element: str) -> str:
    """The op that makes a scalar."""
    return f"arith.constant {number(value, element)}" + ("" if element == "i1" else f" : {element}")


def extreme(sign: int, element: str) -> str:
    """The op that makes the largest or the smallest scalar of the type: for floats an infinity."""
    if not is_float(element):
        largest = 2 ** (get_width(element) - 1) - 1
        return constant(largest if sign > 0 else -largest - 1, element)
    bits = int(INFINITIES[element], 16) + (0 if sign > 0 else 1 << (get_width(element) - 1))
    return f"arith.constant {bits:#x} : {element}"


def convert(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Ops that convert a scalar or a tensor, each with the element type that it makes."""
    if source == target:
        return
    if source == "index" and target != "i64":
        yield "arith.index_cast", "i64"
        yield from convert("i64", target)
    elif {source, target} == {"bf16", "f16"}:
        yield "arith.extf", "f32"
        yield "arith.truncf", target
    else:
        yield _get_conversion(source, target), target


def _get_conversion(source: str, target: str) -> str:
    if "index" in (source, target):
        return "arith.index_cast"
    if is_float(source) != is_float(target):
        return "arith.fptosi" if is_float(source) else "arith.uitofp" if source == "i1" else "arith.sitofp"
    if source == "i1":
        return "arith.extui"
    widens = get_width(source) < get_width(target)
    if is_float(source):
        return "arith.extf" if widens else "arith.truncf"
    return "arith.extsi" if widens else "arith.trunci"
