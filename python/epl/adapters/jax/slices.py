"""Reads and writes at positions that are known: slices and concatenations, with nothing between them.

An unrolled `scan` reads `xs[i]` and writes `ys[i]`. A write is the concatenation of what lies before, the
update and what lies after; a read of a concatenation is a read of its parts. So a stack that one loop
writes and another one reads, as the reverse pass does, is never made, and one that is read whole is one
concatenation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.simplify import producer


def read(value: ir.Value, starts: Sequence[int], shape: Sequence[int]) -> ir.Value:
    """The window of a tensor that begins at `starts` and has a shape."""
    for dim, (start, extent) in enumerate(zip(starts, shape, strict=True)):
        value = _part(value, dim, start, start + extent)
    return value


def write(value: ir.Value, update: ir.Value, starts: Sequence[int]) -> ir.Value:
    """A tensor with an update at the window that begins at `starts`."""
    return _written(value, update, starts, 0) if math.prod(update.type.shape) else value


def _written(value: ir.Value, update: ir.Value, starts: Sequence[int], dim: int) -> ir.Value:
    """As `write`, for an update that covers all dimensions before `dim`."""
    if dim == len(starts):
        return update
    begin, end, extent = starts[dim], starts[dim] + update.type.shape[dim], value.type.shape[dim]
    before = [_part(value, dim, 0, begin)] if begin else []
    after = [_part(value, dim, end, extent)] if end < extent else []
    within = _written(_part(value, dim, begin, end), update, starts, dim + 1)
    return _joined([*before, within, *after], dim)


def _part(value: ir.Value, dim: int, begin: int, end: int) -> ir.Value:
    """The elements `begin` to `end` of one dimension, of which there are some."""
    if (begin, end) == (0, value.type.shape[dim]):
        return value
    if (parts := _concatenated(value, dim)) is not None:
        found, offset = [], 0
        for part in parts:
            extent = part.type.shape[dim]
            low, high = max(begin - offset, 0), min(end - offset, extent)
            if low < high:
                found.append(_part(part, dim, low, high))
            offset += extent
        return _joined(found, dim)
    return _sliced(value, dim, begin, end)


def _concatenated(value: ir.Value, dim: int) -> list[ir.Value] | None:
    """The parts of a concatenation along a dimension, None for another value."""
    owner = producer(value, "stablehlo.concatenate")
    if owner is None or ir.IntegerAttr(owner.attributes["dimension"]).value != dim:
        return None
    return list(owner.operands)


def _joined(parts: Sequence[ir.Value], dim: int) -> ir.Value:
    """Tensors one after the other."""
    flat = [p for part in parts for p in (_concatenated(part, dim) or [part])]
    if len(flat) == 1:
        return flat[0]
    shape = list(parts[0].type.shape)
    shape[dim] = sum(part.type.shape[dim] for part in flat)
    type_ = ir.RankedTensorType.get(shape, parts[0].type.element_type)
    return stablehlo.ConcatenateOp(flat, dim, results=[type_]).result


def _sliced(value: ir.Value, dim: int, begin: int, end: int) -> ir.Value:
    low, high = [0] * value.type.rank, list(value.type.shape)
    if owner := producer(value, "stablehlo.slice"):  # the parts of a part
        steps = ir.DenseI64ArrayAttr(owner.attributes["strides"])
        if all(step == 1 for step in steps):
            low = list(ir.DenseI64ArrayAttr(owner.attributes["start_indices"]))
            high = list(ir.DenseI64ArrayAttr(owner.attributes["limit_indices"]))
            value = owner.operands[0]
    low[dim], high[dim] = low[dim] + begin, low[dim] + end
    bounds = [ir.DenseI64ArrayAttr.get(numbers) for numbers in (low, high, [1] * len(low))]
    return stablehlo.SliceOp(value, *bounds).result
