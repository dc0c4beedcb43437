"""Whether values fit the variables that they are given for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from epl.errors import ArgumentError, Error
from epl.paddle.description import Variable

_WIDE = 8  # bytes of the integers that JAX has half of, unless jax_enable_x64 is set


def given(what: str, values: Mapping[str, Any], expected: Mapping[str, Variable]) -> dict[str, Any]:
    """The values of variables, lists and numbers as arrays.

    Args:
      what: they are, for errors.

    Raises:
      ArgumentError: for names that are missing or too many, for other shapes and dtypes, and for integers of
        64 bits that do not fit 32 while JAX has no others.
    """
    if missing := [name for name in expected if name not in values]:
        raise ArgumentError(f"{what} has no {_list(missing)}, found {_list(values)}")
    if unknown := [name for name in values if name not in expected]:
        raise ArgumentError(f"{what} has {_list(unknown)}, expected {_list(expected)}")
    return {name: _given(f'"{name}" in {what}', values[name], expected[name]) for name in expected}


def _given(what: str, value: Any, variable: Variable) -> Any:
    array = value if hasattr(value, "dtype") and hasattr(value, "shape") else _array(what, value)
    check(what, array, variable, ArgumentError)
    _check_range(what, array)
    return array


def _array(what: str, value: Any) -> np.ndarray[Any, Any]:
    """A list, or a number, which NumPy makes of the objects of Python."""
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{what} is no array: {error}") from None
    if found.dtype.kind not in "biuf":
        raise ArgumentError(f"{what} is no array of numbers, found {type(value).__name__}")
    return found


def check(what: str, value: Any, variable: Variable, kind: type[Error]) -> None:
    """Whether an array fits a variable; of 64 bits it may have 32, as JAX does.

    Raises:
      Error: of this kind, for another shape or dtype.
    """
    shape, dtype = tuple(value.shape), np.dtype(value.dtype)
    fits = len(shape) == len(variable.shape) and all(
        expected in (-1, found) for found, expected in zip(shape, variable.shape, strict=True)
    )
    computed = jax.dtypes.canonicalize_dtype(variable.dtype)
    if not fits or jax.dtypes.canonicalize_dtype(dtype) != computed:
        found = f"{dtype.name}{list(shape)}"
        raise kind(f"{what}: expected {variable.dtype.name}{list(variable.shape)}, found {found}")


def _check_range(what: str, value: Any) -> None:
    """Whether integers of 64 bits fit those that JAX has; what is traced has such already."""
    dtype = np.dtype(value.dtype)
    is_wide = dtype.kind in "iu" and dtype.itemsize == _WIDE
    if not is_wide or jax.config.jax_enable_x64 or isinstance(value, jax.core.Tracer) or not value.size:
        return
    computed = jax.dtypes.canonicalize_dtype(dtype)
    limits, numbers = np.iinfo(computed), np.asarray(value)
    if not limits.min <= numbers.min() <= numbers.max() <= limits.max:
        raise ArgumentError(
            f"{what} has numbers from {numbers.min()} to {numbers.max()}, which are no {computed.name}: set "
            "jax_enable_x64"
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "nothing"
