"""What a mesh holds of a caller's tensor, made of that tensor: some rows, segments apart, parts in shares."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp


def arranged(value: jax.Array, held: Any) -> jax.Array:
    """What a mesh holds, as a tensor of `held.shape`.

    Args:
      value: the caller's tensor, numbers.
      held: a `HeldSlot` of the runtime, which says how its order of elements differs from the caller's.
    """
    if held.caller_rows is not None:
        first, _ = held.caller_rows
        value = value[first : first + (held.caller_shape or held.shape)[0]]
    if not held.caller_shape:
        return value
    parts = dict(held.caller_parts)
    value = value.reshape(_joined(held.shape, parts))
    # A dimension behind another one is dealt first: the places of those before it stay what they are.
    for dim in sorted(parts, reverse=True):
        value = _dealt(value, dim - sum(other < dim for other in parts), held.shape[dim], parts[dim])
    return value


def _joined(shape: list[int], parts: dict[int, list[int]]) -> list[int]:
    """The shape in which (shares, extent of one) are one dimension again."""
    dims = [dim for dim in range(len(shape)) if dim - 1 not in parts]
    return [math.prod(shape[dim : dim + (2 if dim in parts else 1)]) for dim in dims]


def _dealt(value: jax.Array, dim: int, shares: int, extents: list[int]) -> jax.Array:
    """Dimension `dim`, parts behind one another, as (shares, extent of one), with a piece of each part."""
    shape = value.shape
    begins = [sum(extents[:part]) for part in range(len(extents))]
    pieces = [
        jax.lax.slice_in_dim(value, begin, begin + extent, axis=dim).reshape(
            *shape[:dim], shares, extent // shares, *shape[dim + 1 :]
        )
        for begin, extent in zip(begins, extents, strict=True)
    ]
    dealt: jax.Array = jnp.concatenate(pieces, axis=dim + 1)
    return dealt
