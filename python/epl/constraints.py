"""`epl.constrain`: what the user says about how a value inside a step is distributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp

from epl.adapters.jax import constraints as adapter
from epl.errors import ArgumentError
from epl.scope_table import is_traced
from epl.values import as_integer

AxisNames = str | Sequence[str]


def constrain(x: jax.typing.ArrayLike, dims: Mapping[int | None, AxisNames]) -> jax.Array:
    """Gives `x` back, and says how the devices of the step share it.

    `epl.constrain(x, {1: "model"})`: each device along the axis "model" has its part of dimension 1. Axes
    that are not named stay open: what splits `x` along them is found as always. The gradient of `x` is
    constrained likewise. Outside of a step of EPL this is the identity.

    Args:
      x: an array of a step.
      dims: from dimensions, counted from the end if they are negative, to axes of the step's devices: "data",
        which the batch is split over, "model", which is that of `epl.split`, or both, major to minor. The
        key None is for axes over which `x` is whole: `{None: "model"}` has it completed or gathered. Of a
        dimension that the step cuts into equal segments, such as queries, keys and values of one product,
        each segment is split.

    Raises:
      ArgumentError: for what is no dimension of `x` and for an axis that is named twice. That the axes are
        there and divide their dimensions is checked when the step is compiled: `CompileError`.
    """
    array = jnp.asarray(x)
    if jnp.issubdtype(array.dtype, jax.dtypes.extended):
        raise ArgumentError(
            f"constrain takes numbers, found {array.dtype}: constrain what is drawn with the key"
        )
    if not isinstance(dims, Mapping):
        raise ArgumentError(
            f'constrain takes a dict from dimensions to axes such as {{1: "model"}}, found {dims!r}'
        )
    axes: list[tuple[str, ...]] = [()] * array.ndim
    whole: tuple[str, ...] = ()
    for key, names in dims.items():
        if key is None:
            whole = _axes(names)
        else:
            axes[_dimension(key, array)] += _axes(names)
    _check_distinct([*whole, *(axis for each in axes for axis in each)])
    return adapter.bind(array, axes, whole) if is_traced() else array


def _dimension(key: object, array: jax.Array) -> int:
    dim = as_integer(key)
    if dim is None or not -array.ndim <= dim < array.ndim:
        of = jax.typeof(array).str_short(short_dtypes=True)
        turned = f": write {{0: {key!r}}}" if isinstance(key, str) else ""
        raise ArgumentError(
            f"constrain names dimension {key!r} of {of}, which has {array.ndim} dimensions{turned}"
        )
    return dim % array.ndim


def _axes(names: object) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else names
    if not isinstance(found, (tuple, list)) or not all(isinstance(name, str) for name in found):
        raise ArgumentError(f'constrain takes names of axes, such as "model", found {names!r}')
    return tuple(found)


def _check_distinct(names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f'constrain names axis "{twice}" twice')
