"""Rewrites StableHLO into forms whose legalization to linalg shows every operand and gives JAX's numbers.

jaxlib's legalization captures some operands in the bodies that it makes, where no sharding rule sees them,
keeps operations that mean nothing to a global step, and leaves open what XLA defines. Each function here
removes one such case; none changes a value.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.locations import user_place


def simplify(module: ir.Module) -> None:
    """Applies all rewrites of this file to a module of one function."""
    _drop_sharding_constraints(module)
    _drop_barriers(module)
    _drop_algorithms(module)
    _drop_empty_parts(module)
    _drop_empty_reductions(module)
    _broadcast_predicates(module)
    _fold_converted_constants(module)
    _pad_with_constants(module)
    _saturate_conversions(module)


def fold_broadcasts(module: ir.Module) -> None:
    """Broadcasts of one repeated value become constants, those that put an extent of 1 in front reshapes.

    A fifth of a step's operations are such: JAX writes a number as a scalar and its broadcast, and what a
    loop adds to a stack as a row, which is taken apart again where it is read. Before loops are unrolled
    there are fewest of them.
    """
    for op in operations(module, "stablehlo.broadcast_in_dim"):
        source, type_ = op.operands[0], op.results[0].type
        number = repeated_value(source)
        if number is None and not _is_row(op):
            continue
        with ir.InsertionPoint(op), op.location:
            if number is None:
                folded = stablehlo.ReshapeOp(type_, source)
            else:
                folded = stablehlo.ConstantOp(ir.DenseElementsAttr.get_splat(type_, number))
        _replace(op, [folded.result])


def _is_row(broadcast: ir.Operation) -> bool:
    """Whether a broadcast gives a tensor, no scalar, a first dimension of extent 1."""
    source, result = broadcast.operands[0].type, broadcast.results[0].type
    return source.rank > 0 and list(result.shape) == [1, *source.shape]


def operations(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The operations with one of the names (all if none is given), an outer one before its inner ones."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not names or op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def producer(value: ir.Value, name: str) -> ir.Operation | None:
    """The operation that makes a value, if it has that name."""
    owner = value.owner
    return owner if not isinstance(owner, ir.Block) and owner.name == name else None


def direction(comparison: ir.Operation) -> str:
    """How a `stablehlo.compare` compares: "EQ", "NE", "GE", "GT", "LE" or "LT"."""
    return str(stablehlo.ComparisonDirectionAttr(comparison.attributes["comparison_direction"]).value)


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
        instead = "EPL derives shardings, and epl.constrain says one"
        warnings.warn(f"{place}: with_sharding_constraint is ignored: {instead}", stacklevel=2)


def _drop_barriers(module: ir.Module) -> None:
    """A barrier keeps XLA from merging recomputed operations with the first ones; EPL's work ids do that."""
    for op in operations(module, "stablehlo.optimization_barrier"):
        _forward(op)


def _drop_algorithms(module: ir.Module) -> None:
    """The legalization takes no product with an algorithm, as `jax.nn.dot_product_attention` asks for one.

    JAX has converted the operands by then; as XLA on CPUs, EPL rounds no operand further.
    """
    for op in operations(module, "stablehlo.dot_general"):
        if "algorithm" in op.attributes:
            del op.attributes["algorithm"]


def _drop_empty_parts(module: ir.Module) -> None:
    """The legalization does not survive slices of no extent, as `associative_scan` concatenates them."""
    for op in operations(module, "stablehlo.concatenate"):
        dim = ir.IntegerAttr(op.attributes["dimension"]).value
        parts = [part for part in op.operands if part.type.shape[dim]]
        if parts and len(parts) < len(op.operands):
            with ir.InsertionPoint(op), op.location:
                joined = stablehlo.ConcatenateOp(parts, dim, results=[op.results[0].type]).result
            op.results[0].replace_all_uses_with(joined)
            op.erase()
    for op in operations(module, "stablehlo.slice"):
        if 0 in op.results[0].type.shape:
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(constant(op.results[0].type, 0))
            op.erase()


def _drop_empty_reductions(module: ir.Module) -> None:
    """The legalization takes no reductions along no dimension, as `jnp.unique` has them, nor of nothing."""
    for op in operations(module, "stablehlo.reduce"):
        sources, starts = list(op.operands)[: len(op.results)], list(op.operands)[len(op.results) :]
        if len(ir.DenseI64ArrayAttr(op.attributes["dimensions"])) == 0:
            _replace(op, sources)  # without what the reduction starts from
        elif 0 in sources[0].type.shape:
            with ir.InsertionPoint(op), op.location:
                _replace(
                    op,
                    [_repeat(start, result.type) for start, result in zip(starts, op.results, strict=True)],
                )


def _repeat(scalar: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A tensor whose elements are all `scalar`."""
    if 0 in type_.shape:
        return constant(type_, 0)
    return (
        stablehlo.BroadcastInDimOp(type_, scalar, ir.DenseI64ArrayAttr.get([])).result
        if type_.rank
        else scalar
    )


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
        source, type_ = op.operands[0], op.results[0].type
        if source.type == type_:
            _forward(op)
        elif (folded := _converted(repeated_value(source), type_.element_type)) is not None:
            with ir.InsertionPoint(op), op.location:
                constant = stablehlo.ConstantOp(ir.DenseElementsAttr.get_splat(type_, folded))
            op.results[0].replace_all_uses_with(constant.result)
            op.erase()


def repeated_value(value: ir.Value) -> ir.Attribute | None:
    """The number that a constant repeats, or None."""
    owner = producer(value, "stablehlo.constant")
    if owner is None or not isinstance(value.type.element_type, (ir.IntegerType, ir.FloatType)):
        return None
    elements = ir.DenseElementsAttr(owner.attributes["value"])
    return elements.get_splat_value() if elements.is_splat else None


def is_zero(value: ir.Value) -> bool:
    """Whether a value is a constant that is 0 everywhere."""
    number = repeated_value(value)
    return isinstance(number, (ir.FloatAttr, ir.IntegerAttr)) and number.value == 0


def _converted(value: ir.Attribute | None, element: ir.Type) -> ir.Attribute | None:
    """A number as one of another type; None where it might change, but for one rounding."""
    if isinstance(value, ir.BoolAttr):
        return None
    if isinstance(element, ir.FloatType) and isinstance(value, (ir.FloatAttr, ir.IntegerAttr)):
        exact = isinstance(value, ir.FloatAttr) or abs(value.value) < 2**53
        return ir.FloatAttr.get(element, float(value.value)) if exact else None
    if isinstance(element, ir.IntegerType) and isinstance(value, ir.IntegerAttr):
        fits = value.value.bit_length() < element.width and (element.is_signless or value.value >= 0)
        return ir.IntegerAttr.get(element, value.value) if fits else None
    return None


def _pad_with_constants(module: ir.Module) -> None:
    """A pad by a computed value becomes a pad by 0, with that value where a pad of ones by 0 is 0."""
    for op in operations(module, "stablehlo.pad"):
        operand, value = op.operands
        if repeated_value(value) is not None:
            continue
        type_, boolean = op.results[0].type, ir.IntegerType.get_signless(1)
        with ir.InsertionPoint(op), op.location:
            outside = stablehlo.BroadcastInDimOp(type_, value, ir.DenseI64ArrayAttr.get([])).result
            inside = _padded_by_zero(op, operand)
            ones = constant(ir.RankedTensorType.get(operand.type.shape, boolean), 1)
            chosen = stablehlo.SelectOp(_padded_by_zero(op, ones), inside, outside).result
        op.results[0].replace_all_uses_with(chosen)
        op.erase()


def _padded_by_zero(pad: ir.Operation, operand: ir.Value) -> ir.Value:
    """An operand padded as `pad` pads its own, by 0."""
    element = operand.type.element_type
    zero = constant(ir.RankedTensorType.get([], element), 0)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return stablehlo.PadOp(operand, zero, *(pad.attributes[name] for name in names)).result


def _saturate_conversions(module: ir.Module) -> None:
    """Floats beyond an integer's range become its nearest end and NaN becomes 0, as XLA has it."""
    for op in operations(module, "stablehlo.convert"):
        source, type_ = op.operands[0], op.results[0].type
        element = type_.element_type
        if not isinstance(source.type.element_type, ir.FloatType) or not isinstance(element, ir.IntegerType):
            continue
        low, high = _integer_range(element)
        with ir.InsertionPoint(op), op.location:
            value = stablehlo.ConvertOp(type_, source).result
            for side, bound, end in (("GE", float(high + 1), high), ("LE", float(low), low)):
                beyond = compare(source, constant(source.type, bound), side)
                value = stablehlo.SelectOp(beyond, constant(type_, end), value).result
            value = stablehlo.SelectOp(compare(source, source, "NE"), constant(type_, 0), value).result
        op.results[0].replace_all_uses_with(value)
        op.erase()


def _integer_range(element: ir.IntegerType) -> tuple[int, int]:
    """The least and the greatest number of a type."""
    if element.is_unsigned:
        return 0, 2**element.width - 1
    return -(2 ** (element.width - 1)), 2 ** (element.width - 1) - 1


def constant(type_: ir.RankedTensorType, value: float) -> ir.Value:
    """A tensor that repeats a value, which is an int if the type is one of integers."""
    element = type_.element_type
    is_float = isinstance(element, ir.FloatType)
    number = ir.FloatAttr.get(element, value) if is_float else ir.Attribute.parse(f"{value} : {element}")
    return stablehlo.ConstantOp(ir.DenseElementsAttr.get_splat(type_, number)).result


def compare(left: ir.Value, right: ir.Value, how: str) -> ir.Value:
    """Where two tensors compare as `how` says: "EQ", "NE", "GE", "GT", "LE" or "LT"."""
    return stablehlo.CompareOp(left, right, stablehlo.ComparisonDirectionAttr.get(how)).result


def _forward(op: ir.Operation) -> None:
    """Replaces an operation by its operands."""
    _replace(op, op.operands)


def _replace(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Replaces an operation by values, one for each result."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
