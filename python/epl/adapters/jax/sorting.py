"""Raises `stablehlo.sort` to `epl.sort`, whose comparator works on scalars.

Problem: jaxlib has no linalg form of a sort. It legalizes comparators of reductions and maps only.
Method: before the legalization each comparator moves into a map over scalars, which becomes a generic with a
scalar body; afterwards that body becomes the comparator. A sort of which only the first elements are read
(`top_k`) gives these only.
Invariant in: StableHLO in one function. Invariant out: no `stablehlo.sort`; comparators capture nothing.
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.simplify import constant, operations, producer


def raise_sorts(module: ir.Module) -> None:
    """Replaces each sort by an `epl.sort` whose last operand is its comparator, a map."""
    for op in operations(module, "stablehlo.sort"):
        limit = _limit(op)
        with ir.InsertionPoint(op), op.location:
            new = _create_sort(op, "dimension", [*op.operands, _map_of_comparator(op)], limit)
        for old, result in zip(op.results, new.results, strict=True):
            for use in list(old.uses) if limit is not None else ():
                use.owner.results[0].replace_all_uses_with(result)
                use.owner.erase()
            old.replace_all_uses_with(result)
        op.erase()


def attach_comparators(module: ir.Module) -> None:
    """Makes the last operand of each `epl.sort`, a generic after the legalization, the sort's region."""
    for op in operations(module, "epl.sort"):
        *operands, mapped = op.operands
        generic = mapped.owner
        with ir.InsertionPoint(op), op.location:
            new = _create_sort(op, "dim", operands)
        for old, result in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(result)
        op.erase()
        body = generic.regions[0].blocks[0]
        body.append_to(new.regions[0])
        body.erase_argument(len(body.arguments) - 1)  # the generic's output
        returned = body.operations[len(body.operations) - 1].operation
        with ir.InsertionPoint(returned), returned.location:
            ir.Operation.create("epl.yield", [], list(returned.operands))
        returned.erase()
        generic.erase()


def _create_sort(
    sort: ir.Operation, dim: str, operands: list[ir.Value], limit: int | None = None
) -> ir.Operation:
    """An `epl.sort` without a comparator. The attribute `dim` of `sort` says what it sorts.

    Args:
      limit: how many elements its results hold along that dimension; None stands for as many as `sort`'s.
    """
    types = []
    for result in sort.results:
        shape = list(result.type.shape)
        if limit is not None:
            shape[ir.IntegerAttr(sort.attributes[dim]).value] = limit
        types.append(ir.RankedTensorType.get(shape, result.type.element_type))
    return ir.Operation.create("epl.sort", types, operands, {"dim": sort.attributes[dim]}, regions=1)


def _map_of_comparator(sort: ir.Operation) -> ir.Value:
    """A map of zeros whose body is the comparator of a sort."""
    body = sort.regions[0].blocks[0]
    _own_constants(body)
    zeros = [constant(argument.type, 0) for argument in body.arguments]
    boolean = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    mapped = stablehlo.MapOp(boolean, zeros, ir.DenseI64ArrayAttr.get([]))
    body.append_to(mapped.regions[0])
    return mapped.result


def _own_constants(body: ir.Block) -> None:
    """Copies constants into the comparator that uses them: folding has put some of them outside."""
    for op in list(body.operations):
        for index, operand in enumerate(op.operands):
            if owner := producer(operand, "stablehlo.constant"):
                copy = owner.operation.clone(ir.InsertionPoint.at_block_begin(body))
                op.operands[index] = copy.results[0]


def _limit(sort: ir.Operation) -> int | None:
    """How many of the first elements of a sort are read; None if that is not known of every use."""
    dim = ir.IntegerAttr(sort.attributes["dimension"]).value
    limits = set()
    for result in sort.results:
        for use in result.uses:
            if (limit := _prefix(use.owner, dim)) is None:
                return None
            limits.add(limit)
    return limits.pop() if len(limits) == 1 else None


def _prefix(slice_: ir.Operation, dim: int) -> int | None:
    """How many of the first elements along a dimension an operation reads, if it is such a slice."""
    if slice_.name != "stablehlo.slice":
        return None
    shape, result = slice_.operands[0].type.shape, slice_.results[0].type.shape
    starts, strides = (ir.DenseI64ArrayAttr(slice_.attributes[name]) for name in ("start_indices", "strides"))
    whole = all(
        found == extent for d, (found, extent) in enumerate(zip(result, shape, strict=True)) if d != dim
    )
    dense = not any(starts) and all(stride == 1 for stride in strides)
    return int(result[dim]) if whole and dense else None
