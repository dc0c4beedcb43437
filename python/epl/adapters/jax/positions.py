"""The positions of a gather or scatter: those along each dimension alone, and what is known about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import slices
from epl.adapters.jax.simplify import direction, is_zero, producer

Shape = Sequence[int]


def split_positions(indices: ir.Value, vector_dim: int, dims: Sequence[int]) -> dict[int, ir.Value] | None:
    """For every indexed dimension the starts of the windows; None for a layout that JAX does not make."""
    shape = list(indices.type.shape)
    if vector_dim != len(shape) - 1:
        return None
    batch, found = shape[:-1], {}
    for column, dim in enumerate(dims):
        part = slices.read(indices, [0] * len(batch) + [column], [*batch, 1])
        found[dim] = _squeezed(part, batch)
    return found


def _squeezed(value: ir.Value, shape: Shape) -> ir.Value:
    """A tensor without its last dimension, of extent 1."""
    if owner := producer(value, "stablehlo.constant"):
        attribute = ir.DenseElementsAttr(owner.attributes["value"])
        return stablehlo.ConstantOp(_reshaped_elements(attribute, shape)).result
    if owner := producer(value, "stablehlo.broadcast_in_dim"):
        source, dims = owner.operands[0], list(ir.DenseI64ArrayAttr(owner.attributes["broadcast_dimensions"]))
        if dims == list(range(len(shape))) and list(source.type.shape) == list(shape):
            return source
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return stablehlo.ReshapeOp(type_, value).result


def _reshaped_elements(attribute: ir.DenseElementsAttr, shape: Shape) -> ir.DenseElementsAttr:
    """The integers of a constant in another shape."""
    type_ = ir.RankedTensorType.get(shape, attribute.type.element_type)
    if attribute.is_splat:
        return ir.DenseElementsAttr.get_splat(type_, attribute.get_splat_value())
    return ir.DenseElementsAttr.get(np.array(attribute).reshape(shape), type=type_)


def counted(value: ir.Value) -> int | None:
    """The dimension along which a tensor counts 0, 1, 2 ...; None if it does not."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name == "stablehlo.iota":
        along = int(ir.IntegerAttr(owner.attributes["iota_dimension"]).value)
        return along if value.type.shape[along] < 2 ** (value.type.element_type.width - 1) else None
    if owner.name == "stablehlo.broadcast_in_dim":
        dims = list(ir.DenseI64ArrayAttr(owner.attributes["broadcast_dimensions"]))
        dim = counted(owner.operands[0])
        if dim is None or owner.operands[0].type.shape[dim] != value.type.shape[dims[dim]]:
            return None
        return int(dims[dim])
    if owner.name == "stablehlo.reshape":
        source, dim = owner.operands[0], counted(owner.operands[0])
        return None if dim is None else _reshaped(list(source.type.shape), list(value.type.shape), dim)
    if owner.name == "stablehlo.select" and _wraps(owner):
        return counted(owner.operands[2])
    return _counted_constant(owner) if owner.name == "stablehlo.constant" else None


def _reshaped(source: Shape, result: Shape, dim: int) -> int | None:
    """What a dimension is after a reshape that only changes extents of 1; else None."""
    before, after = ([d for d, extent in enumerate(shape) if extent != 1] for shape in (source, result))
    same = [source[d] for d in before] == [result[d] for d in after]
    return after[before.index(dim)] if same and dim in before else None


def _wraps(select: ir.Operation) -> bool:
    """Whether a select replaces negative numbers only: positions that JAX counts from the end."""
    predicate, _, value = select.operands
    if known := producer(predicate, "stablehlo.constant"):
        return not np.any(np.array(ir.DenseElementsAttr(known.attributes["value"])))
    comparison = producer(predicate, "stablehlo.compare")
    if comparison is None:
        return False
    left, right = comparison.operands
    if broadcast := producer(right, "stablehlo.broadcast_in_dim"):
        right = broadcast.operands[0]
    return direction(comparison) == "LT" and left == value and is_zero(right)


def _counted_constant(op: ir.Operation) -> int | None:
    attribute = ir.DenseElementsAttr(op.attributes["value"])
    if attribute.is_splat:
        return None
    values = np.array(attribute)
    for dim, extent in enumerate(values.shape):
        shape = [extent if d == dim else 1 for d in range(values.ndim)]
        if np.array_equal(values, np.broadcast_to(np.arange(extent).reshape(shape), values.shape)):
            return dim
    return None
