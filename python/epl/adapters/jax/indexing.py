"""Gathers, scatters and slices at computed positions become `epl.gather` and `epl.scatter`.

Problem: their legalization reads whole tensors inside a body, where no sharding rule sees them.
Method: JAX's dimension numbers are written as correspondences of dimensions, which the rules read. JAX joins
the positions along the dimensions of an operand to one tensor of vectors; here each gets its own again.
Positions that count a batch themselves (`x[arange(n), labels]`) make its dimension a batch. A slice is one
window. What is at positions that are known is a static slice.
Invariant out: what is left of these operations has no such form: scatters of several operands or that combine
by something else than one operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import scalars, slices
from epl.adapters.jax.positions import counted, split_positions
from epl.adapters.jax.simplify import constant, is_zero, operations

Shape = Sequence[int]

# What the body of a scatter does, for signed numbers and floats, unsigned ones, and booleans.
_COMBINATIONS = {
    "stablehlo.add": ("add", "add", "ori"),
    "stablehlo.subtract": ("add", "add", None),
    "stablehlo.multiply": ("mul", "mul", "andi"),
    "stablehlo.minimum": ("min", "umin", "andi"),
    "stablehlo.maximum": ("max", "umax", "ori"),
    "stablehlo.and": ("andi", "andi", "andi"),
    "stablehlo.or": ("ori", "ori", "ori"),
}


def raise_indexing(module: ir.Module) -> None:
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


class _Access:
    """Which windows of an operand are read or written, and how dimensions correspond.

    Args:
      operand: the tensor.
      sizes: of a window, along the dimensions of the operand.
      positions: from dimensions of the operand to where windows begin, all of one shape.
      batching: from dimensions of the operand to the dimensions of the positions that they are.
      windows: from dimensions of the operand to those of the windows' tensor.
      axes: for each dimension of the positions the dimension of the windows' tensor.
    """

    def __init__(
        self,
        operand: ir.Value,
        sizes: Shape,
        positions: Mapping[int, ir.Value],
        batching: Mapping[int, int],
        windows: Mapping[int, int],
        axes: Shape,
    ) -> None:
        self.operand, self.sizes = operand, list(sizes)
        self._windows, self._axes = windows, axes
        self._batches = dict(batching)
        self._positions = {}
        for dim, value in positions.items():
            if not self._counts_batch(dim, value):
                self._positions[dim] = value

    def _counts_batch(self, dim: int, position: ir.Value) -> bool:
        """Whether positions only count a dimension of their own: it is a batch from now on."""
        axis = counted(position)
        if axis is None or dim in self._windows or axis in self._batches.values():
            return False
        if position.type.shape[axis] != self.operand.type.shape[dim]:
            return False
        self._batches[dim] = axis
        return True

    def highest(self, dim: int) -> int:
        """The last start of a window that ends in the operand."""
        return int(self.operand.type.shape[dim]) - self.sizes[dim]

    def move_inside(self) -> None:
        """Moves windows into the operand: where they cover a dimension, they begin at 0."""
        self._positions = {dim: value for dim, value in self._positions.items() if self.highest(dim)}

    def known_starts(self) -> list[int] | None:
        """Where the window begins, if there is one and that is known when the step is compiled."""
        numbers = {dim: scalars.known(value) for dim, value in self._positions.items()}
        if self._axes or any(number is None for number in numbers.values()):
            return None
        return [int(numbers.get(dim) or 0) for dim in range(len(self.sizes))]

    def clamped(self, starts: Shape) -> list[int]:
        """Starts that are known, moved into the operand."""
        return [min(max(start, 0), self.highest(dim)) for dim, start in enumerate(starts)]

    def clamp(self) -> None:
        """Moves starts that are computed into the operand."""
        for dim, start in self._positions.items():
            low, high = constant(start.type, 0), constant(start.type, self.highest(dim))
            self._positions[dim] = stablehlo.ClampOp(low, start, high).result

    def create(
        self, name: str, result: ir.Type, operands: Sequence[ir.Value], **attributes: ir.Attribute
    ) -> ir.Value:
        """The `epl` operation of the positions; `operands` come before them."""
        dims = {**self._windows, **{dim: self._axes[axis] for dim, axis in self._batches.items()}}
        numbers = {
            "of": list(self._positions),
            "operand_dims": [dims.get(dim, -1) for dim in range(len(self.sizes))],
            "index_dims": list(self._axes),
        }
        attributes |= {key: ir.DenseI64ArrayAttr.get(values) for key, values in numbers.items()}
        positions = map(_signed, self._positions.values())
        return ir.Operation.create(name, [result], [*operands, *positions], attributes).results[0]


def _gather(op: ir.Operation) -> ir.Value | None:
    operand, indices = op.operands
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    positions = split_positions(indices, numbers.index_vector_dim, numbers.start_index_map)
    if positions is None:
        return None
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    gone = {*numbers.collapsed_slice_dims, *batching}
    windows = dict(zip([d for d in range(len(sizes)) if d not in gone], numbers.offset_dims, strict=True))
    axes = [dim for dim in range(op.results[0].type.rank) if dim not in numbers.offset_dims]
    return _read(_Access(operand, sizes, positions, batching, windows, axes), op.results[0].type)


def _dynamic_slice(op: ir.Operation) -> ir.Value:
    operand, *starts = op.operands
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    windows = {dim: dim for dim in range(len(sizes))}
    return _read(_Access(operand, sizes, dict(enumerate(starts)), {}, windows, []), op.results[0].type)


def _read(access: _Access, result: ir.Type) -> ir.Value:
    access.move_inside()
    if (starts := access.known_starts()) is not None:
        part = slices.read(access.operand, access.clamped(starts), access.sizes)
        return _with_shape(part, result.shape)
    return access.create("epl.gather", result, [access.operand])


def _scatter(op: ir.Operation) -> ir.Value | None:
    if len(op.operands) != 3 or (combine := _combination(op)) is None:
        return None
    operand, indices, updates = op.operands
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    positions = split_positions(indices, numbers.index_vector_dim, numbers.scattered_dims_to_operand_dims)
    if positions is None:
        return None
    batching = dict(zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    gone = {*numbers.inserted_window_dims, *batching}
    dims = [dim for dim in range(operand.type.rank) if dim not in gone]
    windows = dict(zip(dims, numbers.update_window_dims, strict=True))
    sizes = [updates.type.shape[windows[dim]] if dim in windows else 1 for dim in range(operand.type.rank)]
    axes = [dim for dim in range(updates.type.rank) if dim not in numbers.update_window_dims]
    if _body(op)[0] == "stablehlo.subtract":
        updates = stablehlo.NegOp(updates).result
    return _write(_Access(operand, sizes, positions, batching, windows, axes), updates, combine)


def _dynamic_update_slice(op: ir.Operation) -> ir.Value:
    operand, update, *starts = op.operands
    sizes = update.type.shape
    windows = {dim: dim for dim in range(len(sizes))}
    access = _Access(operand, sizes, dict(enumerate(starts)), {}, windows, [])
    access.move_inside()
    if (known := access.known_starts()) is not None:
        return slices.write(operand, update, access.clamped(known))
    access.clamp()
    return _write(access, update, "set")


def _write(access: _Access, updates: ir.Value, combine: str) -> ir.Value:
    if 0 in (*access.operand.type.shape, *updates.type.shape):
        return access.operand
    starts = access.known_starts()
    if starts is not None and combine in ("set", "add"):
        if starts != access.clamped(starts):  # a scatter drops such a window
            return access.operand
        window = _with_shape(updates, access.sizes)
        if combine == "add":
            old = slices.read(access.operand, starts, access.sizes)
            window = window if is_zero(old) else stablehlo.AddOp(old, window).result
        return slices.write(access.operand, window, starts)
    attributes = {"combine": ir.Attribute.parse(f"#epl<combine {combine}>")}
    return access.create("epl.scatter", access.operand.type, [updates, access.operand], **attributes)


def _body(op: ir.Operation) -> tuple[str | None, list[ir.Value], list[ir.Value]]:
    """The one operation of a scatter's body (None if it has none), what it reads, what the body returns.

    The name is "" for a body that does more.
    """
    *body, returned = (nested.operation for nested in op.regions[0].blocks[0].operations)
    if not body:
        return None, [], list(returned.operands)
    is_one = len(body) == 1 and returned.operands[0] == body[0].results[0]
    return (body[0].name if is_one else ""), list(body[0].operands), list(returned.operands)


def _combination(op: ir.Operation) -> str | None:
    """What a scatter does where an update meets an element, as `epl.scatter` has it; else None."""
    old, new = op.regions[0].blocks[0].arguments
    name, operands, returned = _body(op)
    if name is None:
        return "set" if returned[0] == new else None
    is_binary = operands == [old, new] or (operands == [new, old] and name != "stablehlo.subtract")
    if not is_binary or name not in _COMBINATIONS:
        return None
    element = op.results[0].type.element_type
    if not isinstance(element, ir.IntegerType):
        column = 0
    else:
        column = 2 if element.width == 1 else int(element.is_unsigned)
    return _COMBINATIONS[name][column]


def _with_shape(value: ir.Value, shape: Shape) -> ir.Value:
    """The same elements in another shape."""
    if list(value.type.shape) == list(shape):
        return value
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return stablehlo.ReshapeOp(type_, value).result


def _signed(index: ir.Value) -> ir.Value:
    """Positions of a signless type. What is beyond 2^63 is beyond every tensor."""
    element = index.type.element_type
    if not element.is_unsigned:
        return index
    if element.width == 64:
        index = stablehlo.MinOp(index, constant(index.type, 2**63 - 1)).result
    wide = ir.RankedTensorType.get(index.type.shape, ir.IntegerType.get_signless(64))
    return stablehlo.ConvertOp(wide, index).result
