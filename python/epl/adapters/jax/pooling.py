"""The gradient of max pooling (`select_and_scatter`) as slices, selects, pads and sums, which rules know.

Method: what stands at one offset of all windows is a strided slice of the padded operand. Going through the
offsets in order, every window remembers the offset of the element that the selection keeps; then each offset
gives back the gradient of the windows that kept it, spread to where it came from, and these are summed.
Windows may overlap and reach into the padding, which is never kept.
Invariant out: what is left selects or combines otherwise than JAX's max and min pooling do.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.simplify import compare, constant, direction, is_zero, operations


def lower_pooling(module: ir.Module) -> None:
    """Rewrites every operation that this file's head names."""
    for op in operations(module, "stablehlo.select_and_scatter"):
        how = _selection(op)
        if how is None or not _adds(op) or not is_zero(op.operands[2]):
            continue
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_gradient(op, how))
        op.erase()


@dataclass(frozen=True)
class _Windows:
    """`counts` windows over a tensor of shape `shape`, the first one `low` before its begin."""

    shape: list[int]
    extents: list[int]
    strides: list[int]
    low: list[int]
    counts: list[int]

    @property
    def padded(self) -> list[int]:
        """The shape that holds all windows and the whole operand."""
        reach = [(n - 1) * s + w for n, s, w in zip(self.counts, self.strides, self.extents, strict=True)]
        return [max(r, before + n) for r, before, n in zip(reach, self.low, self.shape, strict=True)]

    def pad(self, value: ir.Value, fill: ir.Value) -> ir.Value:
        """The operand with its padding."""
        high = [p - before - n for p, before, n in zip(self.padded, self.low, self.shape, strict=True)]
        return _pad(value, fill, self.low, high, [0] * len(high))

    def at(self, padded: ir.Value, offset: tuple[int, ...]) -> ir.Value:
        """What stands at an offset of every window."""
        ends = [o + (n - 1) * s + 1 for o, n, s in zip(offset, self.counts, self.strides, strict=True)]
        bounds = [ir.DenseI64ArrayAttr.get(list(numbers)) for numbers in (offset, ends, self.strides)]
        return stablehlo.SliceOp(padded, *bounds).result

    def spread(self, values: ir.Value, offset: tuple[int, ...]) -> ir.Value:
        """A value of every window at its offset of the padded operand, 0 elsewhere."""
        ends = [o + (n - 1) * s + 1 for o, n, s in zip(offset, self.counts, self.strides, strict=True)]
        high = [p - end for p, end in zip(self.padded, ends, strict=True)]
        return _pad(values, _scalar(values, 0), list(offset), high, [s - 1 for s in self.strides])

    def unpad(self, padded: ir.Value) -> ir.Value:
        """The operand's own part."""
        ends = [before + n for before, n in zip(self.low, self.shape, strict=True)]
        bounds = [ir.DenseI64ArrayAttr.get(list(numbers)) for numbers in (self.low, ends, [1] * len(ends))]
        return stablehlo.SliceOp(padded, *bounds).result


def _gradient(op: ir.Operation, how: str) -> ir.Value:
    operand, source, _ = op.operands
    windows = _windows(op)
    offsets = list(itertools.product(*map(range, windows.extents)))
    padded = windows.pad(operand, _scalar(operand, 0))
    inside = None
    if windows.padded != windows.shape:
        boolean = ir.IntegerType.get_signless(1)
        ones = constant(ir.RankedTensorType.get(windows.shape, boolean), 1)
        inside = windows.pad(ones, constant(ir.RankedTensorType.get([], boolean), 0))
    kept = _kept_offsets(windows, padded, inside, offsets, how)
    total = None
    for number, offset in enumerate(offsets):
        mine = compare(kept, constant(kept.type, number), "EQ")
        part = windows.spread(stablehlo.SelectOp(mine, source, constant(source.type, 0)).result, offset)
        total = part if total is None else stablehlo.AddOp(total, part).result
    return windows.unpad(total)


def _kept_offsets(
    windows: _Windows,
    padded: ir.Value,
    inside: ir.Value | None,
    offsets: list[tuple[int, ...]],
    how: str,
) -> ir.Value:
    """For every window the number of the offset whose element the selection keeps; -1: it has none."""
    element = ir.IntegerType.get_signless(32)
    kept = constant(ir.RankedTensorType.get(windows.counts, element), 0 if inside is None else -1)
    best = windows.at(padded, offsets[0])
    for number, offset in enumerate(offsets):
        here = windows.at(padded, offset)
        stays = compare(best, here, how)
        if inside is not None:
            stays = stablehlo.AndOp(stays, compare(kept, constant(kept.type, 0), "GE")).result
            stays = stablehlo.OrOp(stays, stablehlo.NotOp(windows.at(inside, offset)).result).result
        elif number == 0:
            continue
        kept = stablehlo.SelectOp(stays, kept, constant(kept.type, number)).result
        best = stablehlo.SelectOp(stays, best, here).result
    return kept


def _windows(op: ir.Operation) -> _Windows:
    operand, source, _ = op.operands
    ones = [1] * operand.type.rank

    def numbers(name: str) -> list[int]:
        return list(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else ones

    low = [0] * operand.type.rank
    if "padding" in op.attributes:
        flat = list(ir.DenseIntElementsAttr(op.attributes["padding"]))
        low = [int(number) for number in flat[::2]]
    shape, counts = list(operand.type.shape), list(source.type.shape)
    return _Windows(shape, numbers("window_dimensions"), numbers("window_strides"), low, counts)


def _selection(op: ir.Operation) -> str | None:
    """How the element that is kept compares to a later one: "GE" of max pooling, "LE" of min pooling."""
    block = op.regions[0].blocks[0]
    first, *rest = (view.operation for view in block.operations)
    if first.name != "stablehlo.compare" or len(rest) != 1 or list(first.operands) != list(block.arguments):
        return None
    return how if (how := direction(first)) in ("GE", "LE") else None


def _adds(op: ir.Operation) -> bool:
    block = op.regions[1].blocks[0]
    first, *rest = (view.operation for view in block.operations)
    return first.name == "stablehlo.add" and len(rest) == 1 and set(first.operands) == set(block.arguments)


def _scalar(like: ir.Value, number: int) -> ir.Value:
    return constant(ir.RankedTensorType.get([], like.type.element_type), number)


def _pad(value: ir.Value, fill: ir.Value, low: list[int], high: list[int], interior: list[int]) -> ir.Value:
    if not any([*low, *high, *interior]):
        return value
    return stablehlo.PadOp(value, fill, *(ir.DenseI64ArrayAttr.get(n) for n in (low, high, interior))).result
