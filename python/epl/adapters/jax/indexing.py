"""Gather, scatter and slices at computed positions as comparisons, selects and sums, which every rule knows.

Problem: their legalization reads whole tensors inside a body, where no sharding rule sees them.
Method: one-hot indexing without a multiplication. All meet in one space: a dimension for every batch
dimension of the positions, every dimension of the windows, every indexed dimension of the operand. A mask
tells where a position meets its element; what it selects (0 elsewhere) is summed over the indexed dimensions
to gather, over the positions to scatter. NaN and infinity stay where they are, and a sum over what devices
share is a sum over devices. The work is that of the whole space: the result's, times the extents indexed.
Invariant out: what is left of these operations has no such form: spaces that are too large, scatters that
combine by other than a sum or that may set an element more than once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import scalars, slices
from epl.adapters.jax.simplify import compare, constant, operations

MAX_ELEMENTS = 2**25  # of a space

Shape = Sequence[int]


def lower_indexing(module: ir.Module) -> None:
    """Rewrites every operation that this file's head names."""
    rules = {
        "stablehlo.gather": _gather,
        "stablehlo.dynamic_slice": _dynamic_slice,
        "stablehlo.scatter": _scatter,
        "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    }
    for op in operations(module, *rules):
        with ir.InsertionPoint(op), op.location:
            value = rules[op.name](op)
        if value is not None:
            op.results[0].replace_all_uses_with(value)
            op.erase()


class _Space:
    """The space of this file's head; what is summed comes first where kernels are fastest with it.

    Args:
      batch: extents of the positions.
      shape: of the operand.
      batching: from dimensions of the operand to the batch dimension that each one is.
      windows: from dimensions of the operand to their extent in a window; those without one are missing.
      positions: from indexed dimensions of the operand to where the windows start, a tensor of shape `batch`.
      gathers: whether the indexed dimensions are summed, not those of the batch.
    """

    def __init__(
        self,
        batch: Shape,
        shape: Shape,
        batching: Mapping[int, int],
        windows: Mapping[int, int],
        positions: Mapping[int, ir.Value],
        *,
        gathers: bool,
    ) -> None:
        self._positions = positions
        indexed = [shape[dim] for dim in positions]
        first = len(indexed) if gathers and windows else 0
        self.shape = [*indexed[:first], *batch, *windows.values(), *indexed[first:]]
        self.batch = list(range(first, first + len(batch)))
        last = first + len(batch) + len(windows)
        self.windows = {dim: first + len(batch) + i for i, dim in enumerate(windows)}
        self.indexed = {dim: (0 if first else last) + i for i, dim in enumerate(positions)}
        axes = {dim: self.batch[axis] for dim, axis in batching.items()} | self.windows | self.indexed
        self.operand = [axes[dim] for dim in range(len(shape))]

    def is_small(self) -> bool:
        """Whether memory for the whole space is no matter: kernels may store it."""
        return math.prod(self.shape) <= MAX_ELEMENTS

    def mask(self) -> ir.Value:
        """Where a window's element stands at an element of the operand."""
        masks = [self._meets(dim) for dim in self._positions]
        everywhere = ir.RankedTensorType.get(self.shape, ir.IntegerType.get_signless(1))
        conjunction = functools.partial(functools.reduce, lambda a, b: stablehlo.AndOp(a, b).result)
        return conjunction(masks) if masks else constant(everywhere, 1)

    def _meets(self, dim: int) -> ir.Value:
        """The mask of one dimension, in its part of the space; then broadcast to all of it."""
        window = [self.windows[dim]] if dim in self.windows else []
        axes = sorted([*self.batch, *window, self.indexed[dim]])
        shape = [self.shape[axis] for axis in axes]
        starts = _broadcast(self._positions[dim], shape, [axes.index(axis) for axis in self.batch])
        type_ = starts.type
        for axis in window:
            starts = stablehlo.AddOp(starts, stablehlo.IotaOp(type_, axes.index(axis)).result).result
        iota = stablehlo.IotaOp(type_, axes.index(self.indexed[dim])).result
        return _broadcast(compare(starts, iota, "EQ"), self.shape, axes)

    def sum(self, values: ir.Value, dims: Sequence[int], axes: Sequence[int]) -> ir.Value:
        """The masked sum of `values`, which has the axes `dims`, with the axes `axes` in that order."""
        wide = _broadcast(values, self.shape, dims)
        element = wide.type.element_type
        chosen = stablehlo.SelectOp(self.mask(), wide, constant(wide.type, 0)).result
        return self.reduced(chosen, axes, stablehlo.OrOp if _is_boolean(element) else stablehlo.AddOp)

    def reduced(self, values: ir.Value, axes: Sequence[int], combine: type) -> ir.Value:
        """A value of the whole space, reduced to the axes `axes` in that order."""
        kept = sorted(axes)
        order = ir.DenseI64ArrayAttr.get([kept.index(axis) for axis in axes])
        if gone := [axis for axis in range(len(self.shape)) if axis not in axes]:
            scalar = ir.RankedTensorType.get([], values.type.element_type)
            type_ = ir.RankedTensorType.get([self.shape[axis] for axis in kept], scalar.element_type)
            reduction = stablehlo.ReduceOp([type_], [values], [constant(scalar, 0)], gone)
            block = reduction.regions[0].blocks.append(scalar, scalar)
            with ir.InsertionPoint(block):
                stablehlo.return_([combine(*block.arguments).result])
            values = reduction.results[0]
        return stablehlo.TransposeOp(values, order).result


def _gather(op: ir.Operation) -> ir.Value | None:
    operand, indices = op.operands
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    collapsed = set(numbers.collapsed_slice_dims)
    windows = {d: n for d, n in enumerate(sizes) if d not in collapsed and d not in batching}
    starts = _starts(indices, numbers.index_vector_dim, numbers.start_index_map)
    if starts is None or not collapsed <= set(starts):
        return None
    space = _windows_within(operand, _batch(indices), batching, windows, starts, gathers=True)
    if not space.is_small():
        return None
    offsets, window_axes, batch_axes = (
        set(numbers.offset_dims),
        iter(space.windows.values()),
        iter(space.batch),
    )
    rank = op.results[0].type.rank
    axes = [next(window_axes if dim in offsets else batch_axes) for dim in range(rank)]
    return space.sum(operand, space.operand, axes)


def _dynamic_slice(op: ir.Operation) -> ir.Value | None:
    operand, *starts = op.operands
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    if (known := _known_starts(operand, starts, sizes)) is not None:
        return slices.read(operand, known, sizes)
    windows = dict(enumerate(sizes))
    space = _windows_within(operand, [], {}, windows, dict(enumerate(starts)), gathers=True)
    if not space.is_small():
        return None
    return space.sum(operand, space.operand, list(space.windows.values()))


def _known_starts(operand: ir.Value, starts: Sequence[ir.Value], sizes: Shape) -> list[int] | None:
    """Where a window begins, moved into the operand; None if that is computed in the step."""
    highest = [extent - size for extent, size in zip(operand.type.shape, sizes, strict=True)]
    found = []
    for start, high in zip(starts, highest, strict=True):
        number = scalars.known(start) if high else 0
        if number is None:
            return None
        found.append(min(max(int(number), 0), high))
    return found


def _windows_within(
    operand: ir.Value,
    batch: Shape,
    batching: Mapping[int, int],
    windows: Mapping[int, int],
    starts: Mapping[int, ir.Value],
    *,
    gathers: bool,
) -> _Space:
    """A space whose windows are moved into the operand; where they cover a dimension, nothing is indexed."""
    shape = operand.type.shape
    positions = {
        dim: _clamped(start, shape[dim] - windows.get(dim, 1))
        for dim, start in starts.items()
        if windows.get(dim) != shape[dim]
    }
    return _Space(batch, shape, batching, windows, positions, gathers=gathers)


def _scatter(op: ir.Operation) -> ir.Value | None:
    if len(op.operands) != 3 or (combine := _combination(op)) is None:
        return None
    operand, indices, updates = op.operands
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    batching = dict(zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    inserted, extents = set(numbers.inserted_window_dims), iter(numbers.update_window_dims)
    dims = [d for d in range(operand.type.rank) if d not in inserted and d not in batching]
    windows = {dim: updates.type.shape[next(extents)] for dim in dims}
    starts = _starts(indices, numbers.index_vector_dim, numbers.scattered_dims_to_operand_dims)
    if starts is None or not inserted <= set(starts):
        return None
    shape, batch = operand.type.shape, _batch(indices)
    for dim, start in starts.items():
        if (extent := windows.get(dim, 1)) > 1:  # elements of extent 1 meet nothing outside the operand
            starts[dim] = _dropped(start, shape[dim], extent)
    count = math.prod(n for axis, n in enumerate(batch) if axis not in batching.values())
    if combine == "set" and count != 1 and not _is_true(op, "unique_indices"):
        return None
    space = _Space(batch, shape, batching, windows, starts, gathers=False)
    if not space.is_small():
        return None
    window_dims, batch_axes = set(numbers.update_window_dims), iter(space.batch)
    window_axes = iter(space.windows.values())
    update_axes = [
        next(window_axes if dim in window_dims else batch_axes) for dim in range(updates.type.rank)
    ]
    return _written(space, operand, updates, update_axes, combine)


def _dynamic_update_slice(op: ir.Operation) -> ir.Value | None:
    operand, update, *starts = op.operands
    if (known := _known_starts(operand, starts, update.type.shape)) is not None:
        return slices.write(operand, update, known)
    windows = dict(enumerate(update.type.shape))
    space = _windows_within(operand, [], {}, windows, dict(enumerate(starts)), gathers=False)
    if not space.is_small():
        return None
    return _written(space, operand, update, list(space.windows.values()), "set")


def _written(
    space: _Space, operand: ir.Value, updates: ir.Value, axes: Sequence[int], combine: str
) -> ir.Value:
    """The operand with the updates, which have the axes `axes`, added or set where the mask says."""
    found = space.sum(updates, axes, space.operand)
    if combine == "add":
        return stablehlo.AddOp(operand, found).result
    hit = space.reduced(space.mask(), space.operand, stablehlo.OrOp)
    return stablehlo.SelectOp(hit, found, operand).result


def _combination(op: ir.Operation) -> str | None:
    """What a scatter does where an update meets an element: "add", "set" or another thing."""
    block = op.regions[0].blocks[0]
    *body, returned = (nested.operation for nested in block.operations)
    if not body and returned.operands[0] == block.arguments[1]:
        return "set"
    names = [nested.name for nested in body]
    adds = names == ["stablehlo.add"] and not _is_boolean(op.results[0].type.element_type)
    return "add" if adds and set(body[0].operands) == set(block.arguments) else None


def _starts(indices: ir.Value, vector_dim: int, dims: Sequence[int]) -> dict[int, ir.Value] | None:
    """For every indexed dimension the starts of the windows; None for a layout that JAX does not make."""
    shape = indices.type.shape
    if vector_dim != len(shape) - 1:
        return None
    found = {}
    for column, dim in enumerate(dims):
        low, high = [0] * len(shape), list(shape)
        low[-1], high[-1] = column, column + 1
        step = ir.DenseI64ArrayAttr.get([1] * len(shape))
        part = stablehlo.SliceOp(indices, ir.DenseI64ArrayAttr.get(low), ir.DenseI64ArrayAttr.get(high), step)
        type_ = ir.RankedTensorType.get(shape[:-1], indices.type.element_type)
        found[dim] = stablehlo.ReshapeOp(type_, part.result).result
    return found


def _batch(indices: ir.Value) -> list[int]:
    return list(indices.type.shape)[:-1]


def _clamped(start: ir.Value, highest: int) -> ir.Value:
    return stablehlo.ClampOp(constant(start.type, 0), start, constant(start.type, highest)).result


def _dropped(start: ir.Value, extent: int, window: int) -> ir.Value:
    """The start of a window; the end of the dimension if a part is outside: a scatter drops such a window."""
    low, high = constant(start.type, 0), constant(start.type, extent - window)
    inside = stablehlo.AndOp(compare(start, low, "GE"), compare(start, high, "LE")).result
    return stablehlo.SelectOp(inside, start, constant(start.type, extent)).result


def _broadcast(value: ir.Value, shape: Shape, dims: Sequence[int]) -> ir.Value:
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return stablehlo.BroadcastInDimOp(type_, value, ir.DenseI64ArrayAttr.get(dims)).result


def _is_boolean(element: ir.Type) -> bool:
    return isinstance(element, ir.IntegerType) and element.width == 1


def _is_true(op: ir.Operation, name: str) -> bool:
    return name in op.attributes and ir.BoolAttr(op.attributes[name]).value
