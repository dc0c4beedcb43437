"""What programs are fed, as the arrays that the variables take, and what is fetched, as the user gets it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import jax
import numpy as np

from epl.errors import ArgumentError, ConfigError, Error
from epl.fluid.scope import Tensor
from epl.paddle.description import Variable
from epl.paddle.device_values import Fetched
from epl.paddle.feeds import Split
from epl.paddle.program import Program
from epl.values import did_you_mean


def split() -> Split:
    """How batches are cut for devices: EPL_FLUID_SPLIT in the environment, `rest` or `ceil`.

    Raises:
      ConfigError: for another value.
    """
    text = os.environ.get("EPL_FLUID_SPLIT", Split.REST.value)
    try:
        return Split(text)
    except ValueError:
        raise ConfigError(f'EPL_FLUID_SPLIT="{text}" in the environment, expected "rest" or "ceil"') from None


def names_of(fetch_list: Any) -> list[str]:
    """The names of variables in a list of them or of their names.

    Raises:
      ArgumentError: for what is neither.
    """
    if fetch_list is None:
        return []
    if isinstance(fetch_list, str) or not isinstance(fetch_list, Sequence):
        fetch_list = [fetch_list]
    names: list[str] = []
    for each in fetch_list:
        name = each if isinstance(each, str) else getattr(each, "name", None)
        if not isinstance(name, str):
            raise ArgumentError(f"fetch_list has a {type(each).__name__}, expected a variable or its name")
        names.append(name)
    return names


def arrays(
    program: Program, feed: Mapping[str, Any], devices: int = 1, what: str = "feed"
) -> dict[str, np.ndarray[Any, Any]]:
    """A feed as arrays; what the program does not have is left out, with a warning.

    Args:
      devices: that share it.

    Raises:
      ArgumentError: for what is missing, and for another dtype or shape than the variable has.
    """
    if not isinstance(feed, Mapping):
        raise ArgumentError(f"{what} must be a dict from names to arrays, found {type(feed).__name__}")
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in feed.items():
        if name in program.takes:
            found[name] = _array(f'"{name}" in {what}', value, program.variables[name], devices)
        elif name not in program.variables:
            hint = did_you_mean(name, sorted(program.takes))
            warnings.warn(f'"{name}" in {what} is no variable of the program{hint}', stacklevel=3)
    if missing := [name for name in program.feeds if name not in found]:
        raise ArgumentError(f"{what} has no {', '.join(missing)}, found {', '.join(feed) or 'nothing'}")
    return found


def _array(what: str, value: Any, variable: Variable, devices: int) -> np.ndarray[Any, Any]:
    if _is_taken(value, variable, devices):
        return value
    if callable(getattr(value, "lod", None)) and value.lod():
        raise ArgumentError(
            f"{what} has sequences of different lengths (LoD), which are not supported: pad them"
        )
    array = np.asarray(value, None if hasattr(value, "dtype") else variable.dtype)
    # Arrays of JAX have 32 bits for 64.
    if array.dtype != variable.dtype and jax.dtypes.canonicalize_dtype(variable.dtype) != array.dtype:
        raise ArgumentError(f"{what}: the variable is {variable.dtype.name}, found {array.dtype.name}")
    if not _fits(variable, array.shape, devices):
        shape, found = list(variable.shape), list(array.shape)
        raise ArgumentError(f"{what}: should have dimensions = {shape}, found {found} for {devices} devices")
    return _in_32_bits(what, array)


def _is_taken(value: Any, variable: Variable, devices: int) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether a value is an array as a step takes it, so that nothing is to be converted: quick to tell."""
    is_kept = type(value) is np.ndarray and value.dtype == variable.dtype and value.dtype.itemsize <= 4
    return is_kept and _fits(variable, value.shape, devices)


def _fits(variable: Variable, found: tuple[int, ...], devices: int) -> bool:
    """Whether an array has a variable's shape: of all devices' rows, or a row for each if persistable."""
    shape = list(variable.shape)
    if variable.persistable:
        return math.prod(found) % max(math.prod(shape), 1) == 0 and found[1:] == tuple(shape[1:])
    if shape and shape[0] != -1:
        shape[0] *= devices
    return len(found) == len(shape) and all(size in (-1, own) for size, own in zip(shape, found, strict=True))


def _in_32_bits(what: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As JAX computes: numbers of 64 bits have to fit 32, unless `jax_enable_x64` is set."""
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    if dtype == array.dtype:
        return array
    if array.dtype.kind in "iu" and array.size:
        limits, least, most = np.iinfo(dtype), array.min(), array.max()
        if not limits.min <= least <= most <= limits.max:
            raise ArgumentError(
                f"{what} has numbers from {least} to {most}, which are no int32: set jax_enable_x64"
            )
    return array.astype(dtype)


def merged(name: str, fetched: Fetched, program: Program) -> np.ndarray[Any, Any]:
    """A fetched variable of all devices, one behind the other along dimension 0; a number counts as a row.

    Raises:
      Error: for values that do not fit together.
    """
    if isinstance(fetched.parts, np.ndarray):  # one stands behind the other already
        devices, *shape = fetched.parts.shape
        joined = fetched.parts.reshape(devices * shape[0], *shape[1:]) if shape else fetched.parts
        return _in_its_dtype(joined, program.variables.get(name))
    parts = [np.atleast_1d(each) for each in of_devices(name, fetched, program)]
    if len({each.shape[1:] for each in parts}) > 1:
        shapes = ", ".join(str(list(each.shape)) for each in parts)
        raise Error(
            f'"{name}" has the shapes {shapes} on the devices, which cannot be merged along dimension 0: '
            "fetch it with return_merged=False"
        )
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def of_devices(name: str, fetched: Fetched, program: Program) -> list[np.ndarray[Any, Any]]:
    """A fetched variable on each device, in the dtype that the program says."""
    variable = program.variables.get(name)
    return [_in_its_dtype(each, variable) for each in fetched.values]


def _in_its_dtype(value: np.ndarray[Any, Any], variable: Variable | None) -> np.ndarray[Any, Any]:
    return value if variable is None else value.astype(variable.dtype, copy=False)


def as_tensor(name: str, value: np.ndarray[Any, Any]) -> Tensor:
    """What is fetched with `return_numpy=False`."""
    return Tensor({name: value}, name)
