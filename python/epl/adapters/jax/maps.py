"""Calls of long elementwise functions of unsigned integers become one `linalg.generic` each.

Problem: random bits take two hundred operations (threefry), and a network with dropout draws them several
times in each layer: two thirds of its operations. Inlined, each is legalized, printed, parsed and looked at
by every pass.
Method: such a function is not inlined but called, by a placeholder until all types are those of linalg, then
by an operation whose body is the function. It is translated once; further calls are clones.
Nothing is lost: each element of the results depends on the elements of the operands at the same place, as
before, and the bits of a hash are no partial sums that later passes would keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxlib.mlir import ir

from epl.adapters.jax.simplify import operations, repeated_value

MAP = "epl.map"  # the placeholder
_FEWEST = 16  # operations of a function that is worth it: others are left to what fuses kernels

_ARITHMETIC = {
    "stablehlo.add": "arith.addi",
    "stablehlo.subtract": "arith.subi",
    "stablehlo.multiply": "arith.muli",
    "stablehlo.and": "arith.andi",
    "stablehlo.or": "arith.ori",
    "stablehlo.xor": "arith.xori",
    "stablehlo.shift_left": "arith.shli",
    "stablehlo.shift_right_logical": "arith.shrui",
}
_SHIFTS = ("stablehlo.shift_left", "stablehlo.shift_right_logical")


def is_map(function: ir.Operation) -> bool:
    """Whether a function computes each element from those at the same place, by what this file translates."""
    block = function.regions[0].blocks[0]
    *body, returned = (view.operation for view in block.operations)
    if len(body) < _FEWEST:
        return False
    type_ = returned.operands[0].type
    element = type_.element_type
    if not isinstance(element, ir.IntegerType) or not element.is_unsigned:
        return False
    scalar = ir.RankedTensorType.get([], element)
    values = [*block.arguments, *(result for op in body for result in op.results)]
    return (
        all(value.type in (type_, scalar) for value in values)
        and all(value.type == type_ for value in returned.operands)
        and all(_is_translated(op, element.width) for op in body)
    )


def _is_translated(op: ir.Operation, width: int) -> bool:
    if op.name == "stablehlo.constant":
        return repeated_value(op.results[0]) is not None
    if op.name in _SHIFTS:  # by the width and more they mean nothing in arith
        amount = repeated_value(op.operands[1])
        return amount is not None and ir.IntegerAttr(amount).value < width
    return op.name == "stablehlo.broadcast_in_dim" or op.name in _ARITHMETIC


def call_map(function: ir.Operation, operands: list[ir.Value], location: ir.Location) -> list[ir.Value]:
    """The results of a call of such a function, made at the insertion point."""
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    name = {"function": function.attributes["sym_name"]}
    return list(ir.Operation.create(MAP, types, operands, name, loc=location).results)


def lower_maps(module: ir.Module, functions: Mapping[str, ir.Operation]) -> None:
    """Replaces the placeholders, whose types are signless by now.

    Args:
      functions: those that are called, by name.
    """
    known: dict[str, ir.Operation] = {}
    for op in operations(module, MAP):
        name = ir.StringAttr(op.attributes["function"]).value
        with ir.InsertionPoint(op), op.location:
            empty = ir.Operation.create("tensor.empty", [op.results[0].type]).results[0]
            operands = [*op.operands, *[empty] * len(op.results)]
            if name in known:
                generic = known[name].clone().operation
                for index, operand in enumerate(operands):
                    generic.operands[index] = operand
                generic.location = op.location
            else:
                generic = known[name] = _generic(functions[name], op, operands)
        for old, new in zip(op.results, generic.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()


def _generic(function: ir.Operation, call: ir.Operation, operands: list[ir.Value]) -> ir.Operation:
    """The operation that a call of a function becomes."""
    rank, inputs, results = call.results[0].type.rank, len(call.operands), len(call.results)
    identity, single = ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, [])
    maps = [ir.AffineMapAttr.get(identity if value.type.rank else single) for value in operands]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get(maps),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([inputs, results]),
    }
    types = [result.type for result in call.results]
    generic = ir.Operation.create("linalg.generic", types, operands, attributes, regions=1)
    element = types[0].element_type
    with ir.Location.unknown():
        block = generic.regions[0].blocks.append(*[element] * len(operands))
        with ir.InsertionPoint(block):
            _translate(function.regions[0].blocks[0], block, element)
    return generic


def _translate(source: ir.Block, target: ir.Block, element: ir.Type) -> None:
    """Makes the operations of a function on scalars, at the insertion point."""
    values: dict[ir.Value, ir.Value] = dict(zip(source.arguments, target.arguments, strict=False))
    *body, returned = (view.operation for view in source.operations)
    for op in body:
        operands = [values[operand] for operand in op.operands]
        if op.name == "stablehlo.broadcast_in_dim":
            values[op.results[0]] = operands[0]
        elif op.name == "stablehlo.constant":
            values[op.results[0]] = _constant(op, element)
        else:
            new = ir.Operation.create(_ARITHMETIC[op.name], [element], operands)
            values[op.results[0]] = new.results[0]
    ir.Operation.create("linalg.yield", [], [values[value] for value in returned.operands])


def _constant(op: ir.Operation, element: ir.IntegerType) -> ir.Value:
    value = ir.IntegerAttr.get(element, ir.IntegerAttr(repeated_value(op.results[0])).value)
    return ir.Operation.create("arith.constant", [element], attributes={"value": value}).results[0]
