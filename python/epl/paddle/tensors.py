"""Tensors out of bytes that a file has, whatever these are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from epl.errors import Error

_MOST_DIMENSIONS = 9  # of a tensor of Paddle


def check_shape(shape: Sequence[int], what: str) -> None:
    """Whether Paddle has tensors of this shape.

    Raises:
      Error: if not: names `what` has it.
    """
    if len(shape) > _MOST_DIMENSIONS:
        raise Error(f"{what} has {len(shape)} dimensions, expected at most {_MOST_DIMENSIONS}")
    if any(extent < 0 for extent in shape):
        raise Error(f"{what} has shape {list(shape)}, expected no negative extent")


def from_bytes(
    content: bytes, dtype: np.dtype[Any], shape: Sequence[int], what: str, is_fortran: bool = False
) -> np.ndarray[Any, Any]:
    """A tensor that reads `content`, and copies it only where bytes are no bools.

    Args:
      is_fortran: whether the first dimension is the innermost one.

    Raises:
      Error: for a wrong shape, or another number of bytes: names `what` has it.
    """
    check_shape(shape, what)
    size = math.prod(shape) * dtype.itemsize
    if len(content) != size:
        raise Error(f"{what} has {len(content)} bytes, expected {size} of {dtype.name}{list(shape)}")
    flat = np.frombuffer(content, np.uint8) != 0 if dtype == np.bool_ else np.frombuffer(content, dtype)
    try:
        return flat.reshape(tuple(shape), order="F" if is_fortran else "C")
    except ValueError as error:
        raise Error(f"{what} has shape {list(shape)}: {error}") from None


def to_bytes(value: np.ndarray[Any, Any]) -> bytes:
    """The elements, row-major and little-endian."""
    native = value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    return np.ascontiguousarray(native).tobytes()
