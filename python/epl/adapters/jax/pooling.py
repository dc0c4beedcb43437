"""The gradient of max pooling (`select_and_scatter`) as slices, selects, pads and sums, which rules know.

Method: what stands at one offset of all windows is a strided slice of the padded operand. Going through the
offsets in order, every window remembers the offset of the element that the selection keeps; then each offset
gives back the gradient of the windows that kept it, spread to where it came from, and these are summed.
Windows may overlap and reach into the padding, which is never kept.
Invariant out: what is left selects or combines otherwise than JAX's max and min pooling do.
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.simplify import compare, constant, direction, is_zero, operations
from epl.adapters.jax.windows import Windows, scalar, windows_of


def lower_pooling(module: ir.Module) -> None:
    """Rewrites every operation that this file's head names."""
    for op in operations(module, "stablehlo.select_and_scatter"):
        how = _selection(op)
        if how is None or not _adds(op) or not is_zero(op.operands[2]):
            continue
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_gradient(op, how))
        op.erase()


def _gradient(op: ir.Operation, how: str) -> ir.Value:
    operand, source, _ = op.operands
    windows = windows_of(op, source)
    offsets = windows.offsets
    padded = windows.pad(operand, scalar(operand, 0))
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
    windows: Windows,
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
