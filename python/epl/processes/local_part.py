"""A leaf that is the part of a batch which this process reads."""

from __future__ import annotations

from typing import Any

import jax


class LocalPart:
    """An array of some rows of a batch; `array` is that, `shape` and `dtype` are its own."""

    __slots__ = ("array", "dtype", "shape")
    weak_type = False

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = tuple(jax.numpy.shape(array))
        self.dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(array))

    def __repr__(self) -> str:
        return f"from_local({self.dtype.name}{list(self.shape)})"
