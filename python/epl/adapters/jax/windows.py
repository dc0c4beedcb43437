"""Windows that slide over tensors, as slices; reductions of several tensors over windows (`reduce_window`).

Problem: jaxlib legalizes a reduction over windows of one tensor only. Of several, a position with a value,
as a max pooling finds its indices, it leaves the operation.
Method: what stands at one offset of all windows is a strided slice of the padded operands. The reducer, which
works on scalars, is written once for each offset on these slices, in the order of the offsets; functions that
it calls are written out.
Invariant in: functions that are called are there.
Invariant out: what is left has one operand, is dilated between its elements, has a reducer that is not
elementwise, or windows of more elements than are worth writing out.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.simplify import constant, operations

_MOST_OFFSETS = 1024


def lower_windows(module: ir.Module) -> None:
    """Rewrites every operation that this file's head names."""
    for op in operations(module, "stablehlo.reduce_window"):
        if len(op.results) == 1 or not _is_plain(op):
            continue
        windows = windows_of(op, op.results[0])
        if len(windows.offsets) > _MOST_OFFSETS:
            continue
        with ir.InsertionPoint(op), op.location:
            for result, value in zip(op.results, _reduced(op, windows), strict=True):
                result.replace_all_uses_with(value)
        op.erase()


def _is_plain(op: ir.Operation) -> bool:
    """Whether operands are not dilated, and the reducer is made of scalars alone."""
    dilated = "base_dilations" in op.attributes and set(ir.DenseI64ArrayAttr(op.attributes["base_dilations"]))
    return dilated in (False, {1}) and _is_of_scalars(op.regions[0].blocks[0])


def _is_of_scalars(body: ir.Block) -> bool:
    inner = [view.operation for view in body.operations]
    types = [result.type for op in inner for result in op.results]
    return (
        all(isinstance(type_, ir.RankedTensorType) and not type_.rank for type_ in types)
        and not any(list(op.regions) for op in inner)
        and all(_is_of_scalars(_called(op)) for op in inner if op.name == "func.call")
    )


def _called(call: ir.Operation) -> ir.Block:
    """The body of a function that is called."""
    top = call
    while top.parent is not None:
        top = top.parent.operation
    name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    return ir.SymbolTable(top)[name].regions[0].blocks[0]


def _reduced(op: ir.Operation, windows: Windows) -> list[ir.Value]:
    count = len(op.results)
    inits = list(op.operands)[count:]
    padded = [windows.pad(value, init) for value, init in zip(list(op.operands)[:count], inits, strict=True)]
    totals = [_spread(init, windows.counts) for init in inits]
    for offset in windows.offsets:
        here = [windows.at(value, offset) for value in padded]
        totals = _inlined(op.regions[0].blocks[0], [*totals, *here], windows.counts)
    return totals


def _spread(scalar: ir.Value, shape: list[int]) -> ir.Value:
    """A scalar as every element of a tensor."""
    result = ir.RankedTensorType.get(shape, scalar.type.element_type)
    return stablehlo.BroadcastInDimOp(result, scalar, ir.DenseI64ArrayAttr.get([])).result


def _inlined(body: ir.Block, operands: Sequence[ir.Value], shape: list[int]) -> list[ir.Value]:
    """A function of scalars, on all elements of tensors of one shape."""
    values = dict(zip(body.arguments, operands, strict=True))

    def tensor(value: ir.Value) -> ir.Value:
        if value not in values:  # a scalar from outside of the reducer
            values[value] = _spread(value, shape)
        return values[value]

    *inner, last = (view.operation for view in body.operations)
    for op in inner:
        if op.name == "stablehlo.constant":
            values[op.results[0]] = _spread(op.clone().results[0], shape)
            continue
        if op.name == "func.call":
            values |= zip(
                op.results, _inlined(_called(op), list(map(tensor, op.operands)), shape), strict=True
            )
            continue
        types = [ir.RankedTensorType.get(shape, result.type.element_type) for result in op.results]
        attributes = {name: op.attributes[name] for name in op.attributes}
        made = ir.Operation.create(op.name, types, list(map(tensor, op.operands)), attributes)
        values |= zip(op.results, made.results, strict=True)
    return list(map(tensor, last.operands))


@dataclass(frozen=True)
class Windows:
    """`counts` windows over a tensor of shape `shape`, the first one `low` before its begin.

    gaps: distance of the elements of one window, along each dimension.
    """

    shape: list[int]
    extents: list[int]
    strides: list[int]
    gaps: list[int]
    low: list[int]
    counts: list[int]

    @property
    def offsets(self) -> list[tuple[int, ...]]:
        """Where the elements of a window stand, from its first one, in their order."""
        lines = [range(0, n * gap, gap) for n, gap in zip(self.extents, self.gaps, strict=True)]
        return list(itertools.product(*lines))

    @property
    def padded(self) -> list[int]:
        """The shape that holds all windows and the whole operand."""
        last = self.offsets[-1]
        reach = [(n - 1) * s + o + 1 for n, s, o in zip(self.counts, self.strides, last, strict=True)]
        return [max(r, before + n) for r, before, n in zip(reach, self.low, self.shape, strict=True)]

    def pad(self, value: ir.Value, fill: ir.Value) -> ir.Value:
        """The operand with its padding."""
        high = [p - before - n for p, before, n in zip(self.padded, self.low, self.shape, strict=True)]
        return pad(value, fill, self.low, high, [0] * len(high))

    def at(self, padded: ir.Value, offset: tuple[int, ...]) -> ir.Value:
        """What stands at an offset of every window."""
        ends = [o + (n - 1) * s + 1 for o, n, s in zip(offset, self.counts, self.strides, strict=True)]
        bounds = [ir.DenseI64ArrayAttr.get(list(numbers)) for numbers in (offset, ends, self.strides)]
        return stablehlo.SliceOp(padded, *bounds).result

    def spread(self, values: ir.Value, offset: tuple[int, ...]) -> ir.Value:
        """A value of every window at its offset of the padded operand, 0 elsewhere."""
        ends = [o + (n - 1) * s + 1 for o, n, s in zip(offset, self.counts, self.strides, strict=True)]
        high = [p - end for p, end in zip(self.padded, ends, strict=True)]
        return pad(values, scalar(values, 0), list(offset), high, [s - 1 for s in self.strides])

    def unpad(self, padded: ir.Value) -> ir.Value:
        """The operand's own part."""
        ends = [before + n for before, n in zip(self.low, self.shape, strict=True)]
        bounds = [ir.DenseI64ArrayAttr.get(list(numbers)) for numbers in (self.low, ends, [1] * len(ends))]
        return stablehlo.SliceOp(padded, *bounds).result


def windows_of(op: ir.Operation, counted: ir.Value) -> Windows:
    """The windows of an operation over its first operand, as many as `counted` has elements."""
    operand = op.operands[0]
    ones = [1] * operand.type.rank

    def numbers(name: str) -> list[int]:
        return list(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else ones

    low = [0] * operand.type.rank
    if "padding" in op.attributes:
        flat = list(ir.DenseIntElementsAttr(op.attributes["padding"]))
        low = [int(number) for number in flat[::2]]
    shape, counts = list(operand.type.shape), list(counted.type.shape)
    extents, strides, gaps = map(numbers, ("window_dimensions", "window_strides", "window_dilations"))
    return Windows(shape, extents, strides, gaps, low, counts)


def scalar(like: ir.Value, number: int) -> ir.Value:
    """A number of a tensor's element type."""
    return constant(ir.RankedTensorType.get([], like.type.element_type), number)


def pad(value: ir.Value, fill: ir.Value, low: list[int], high: list[int], interior: list[int]) -> ir.Value:
    """A tensor between and round whose elements stands `fill`."""
    if not any([*low, *high, *interior]):
        return value
    return stablehlo.PadOp(value, fill, *(ir.DenseI64ArrayAttr.get(n) for n in (low, high, interior))).result
