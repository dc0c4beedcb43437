"""Whether values fit the variables that they are given for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from epl.errors import ArgumentError, Error
from epl.paddle.description import Variable


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
    computed = jax.dtypes.canonicalize_dtype(array.dtype)
    if computed == np.dtype(array.dtype) or isinstance(array, jax.core.Tracer):
        return array
    return _narrowed(what, np.asarray(array), computed)


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


def _narrowed(what: str, value: np.ndarray[Any, Any], computed: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers of 64 bits in the 32 that JAX computes with, which integers have to fit."""
    if computed.kind in "iu" and value.size:
        limits = np.iinfo(computed)
        if not limits.min <= value.min() <= value.max() <= limits.max:
            raise ArgumentError(
                f"{what} has numbers from {value.min()} to {value.max()}, which are no {computed.name}: set "
                "jax_enable_x64"
            )
    return value.astype(computed)


def _list(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "nothing"
