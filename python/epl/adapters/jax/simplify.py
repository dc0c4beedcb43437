"""Rewrites StableHLO into forms whose legalization to linalg shows every operand.

jaxlib's legalization captures some operands in the bodies that it makes, where no sharding rule sees them,
and keeps operations that mean nothing to a global step. Each function here removes one such case; none
changes a value.
"""

from __future__ import annotations

import warnings

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.locations import user_place


def simplify(module: ir.Module) -> None:
    """Applies all rewrites of this file to a module of one function."""
    _drop_sharding_constraints(module)
    _drop_barriers(module)
    _broadcast_predicates(module)
    _fold_converted_constants(module)


def operations(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The operations with one of the names (all if none is given), an outer one before its inner ones."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not names or op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _drop_sharding_constraints(module: ir.Module) -> None:
    """EPL derives every sharding itself. JAX makes constraints of its own, without a mesh, on typed keys."""
    asked = []
    for op in operations(module, "sdy.sharding_constraint"):
        if "empty_mesh" not in str(op.attributes["sharding"]):
            asked.append(op.location)
        _forward(op)
    for op in operations(module, "sdy.mesh"):
        op.erase()
    if asked:
        place = user_place(asked[0])
        warnings.warn(f"{place}: with_sharding_constraint is ignored: EPL derives shardings", stacklevel=2)


def _drop_barriers(module: ir.Module) -> None:
    """A barrier keeps XLA from merging recomputed operations with the first ones; EPL's work ids do that."""
    for op in operations(module, "stablehlo.optimization_barrier"):
        _forward(op)


def _broadcast_predicates(module: ir.Module) -> None:
    """A select with one predicate for a whole tensor gets a predicate for every element."""
    for op in operations(module, "stablehlo.select"):
        predicate, shape = op.operands[0], op.results[0].type.shape
        if predicate.type.rank == 0 and shape:
            type_ = ir.RankedTensorType.get(shape, predicate.type.element_type)
            dims = ir.DenseI64ArrayAttr.get([])
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = stablehlo.BroadcastInDimOp(type_, predicate, dims).result


def _fold_converted_constants(module: ir.Module) -> None:
    """A conversion of one repeated value is that value (`jnp.pad` converts its 0, which pads must see)."""
    for op in operations(module, "stablehlo.convert"):
        source = op.operands[0].owner
        if not isinstance(source, stablehlo.ConstantOp):
            continue
        value = ir.DenseElementsAttr(source.attributes["value"])
        integers = value.is_splat and isinstance(value.type.element_type, ir.IntegerType)
        folded = _converted(value.get_splat_value(), op.results[0].type) if integers else None
        if folded is not None:
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(stablehlo.ConstantOp(folded).result)
            op.erase()


def _converted(value: ir.IntegerAttr, type_: ir.Type) -> ir.Attribute | None:
    """An integer constant as one of a float type; None for other conversions."""
    element = type_.element_type
    if not isinstance(element, ir.FloatType) or not value.type.is_signless or value.type.width == 1:
        return None
    return ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(element, float(value.value)))


def _forward(op: ir.Operation) -> None:
    """Replaces an operation by its operands."""
    for result, operand in zip(op.results, op.operands, strict=True):
        result.replace_all_uses_with(operand)
    op.erase()
