"""StableHLO -> linalg on tensors; the operations whose operands linalg would hide are kept as `epl` ones.

Method: jaxlib's own passes do the legalization. Before them stand what they would lose: concatenations become
`epl.concatenate` (linalg's form captures its operands in the body, where no sharding rule sees them), sorts
become `epl.sort`, large constants become hidden arguments (they would be printed into the text). Nothing here
runs cse: it would merge equal operations of two scopes, and only the compiler can keep them apart.
Invariant out: operations of linalg, tensor, arith, math, scf and epl on signless types; everything else was
an `UnsupportedError` with the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.checkpoints import raise_checkpoints
from epl.adapters.jax.constraints import CONSTRAIN, raise_constraints
from epl.adapters.jax.factorizations import raise_factorizations
from epl.adapters.jax.flatten import flatten
from epl.adapters.jax.indexing import raise_indexing
from epl.adapters.jax.locations import unsupported_operation
from epl.adapters.jax.loops import LOOP_EDGES
from epl.adapters.jax.maps import MAP, lower_maps
from epl.adapters.jax.pooling import lower_pooling
from epl.adapters.jax.reports import Site
from epl.adapters.jax.simplify import fold_broadcasts, operations, simplify
from epl.adapters.jax.sorting import attach_comparators, raise_sorts
from epl.adapters.jax.windows import lower_windows
from epl.reports import Report

HOIST_BYTES = 1024  # closed-over arrays above this size become hidden arguments
_HEX_ELEMENTS = 100
_RAISED = (CONSTRAIN, "epl.concatenate", "epl.gather", MAP, "epl.scatter", "epl.sort", *LOOP_EDGES)

_DIALECTS = frozenset({"arith", "builtin", "epl", "func", "linalg", "math", "scf", "tensor"})
# Legalized to bodies that capture whole tensors; what else captures one leaves a tensor.extract.
_CAPTURING = frozenset(
    {"stablehlo.gather", "stablehlo.dynamic_gather", "stablehlo.scatter", "stablehlo.rng_bit_generator"}
)
_LEFT_OVER = frozenset({"builtin.unrealized_conversion_cast", "tensor.extract"})


@dataclass(frozen=True)
class Hidden:
    """What `main` has beside what the step has, behind it: values of arguments, and what results report."""

    arguments: list[np.ndarray]
    reports: list[Report]


def legalize(module: ir.Module, sites: Sequence[Site] = ()) -> Hidden:
    """Rewrites the module in place, as this file's head says.

    Args:
      sites: what the custom calls of prints and checks stand for.

    Raises:
      UnsupportedError: for an operation that has no form there.
    """
    expand(module)
    fold_broadcasts(module)
    lower_windows(module)
    flat = flatten(module, sites)
    _return_too(module, [value for record in flat.records for value in record.values])
    raise_indexing(module)
    lower_pooling(module)
    # Removes what nothing uses, which is no error then.
    _run(module, "func.func(canonicalize)")
    _refuse(module, _has_no_form)
    simplify(module)
    hidden = _hoist_constants(module)
    _raise_concatenations(module)
    raise_constraints(module)
    raise_checkpoints(module)
    raise_factorizations(module)
    raise_sorts(module)
    _run(module, "stablehlo-legalize-to-linalg")
    attach_comparators(module)
    _run(module, "canonicalize")
    _make_signless(module)
    lower_maps(module, flat.maps)
    _refuse(module, _is_foreign)
    return Hidden(hidden, [record.report for record in flat.records])


def expand(module: ir.Module) -> None:
    """Rewrites what StableHLO itself can express: CHLO, composites."""
    _run(module, "func.func(chlo-legalize-to-stablehlo),func.func(stablehlo-legalize-composite-to-call)")


def main_function(module: ir.Module) -> ir.Operation:
    """The entry function of a lowered step."""
    return next(op.operation for op in module.body.operations if op.operation.name == "func.func")


def _run(module: ir.Module, pipeline: str) -> None:
    stablehlo.register_stablehlo_passes()
    passes = passmanager.PassManager.parse(f"builtin.module({pipeline})")
    passes.enable_verifier(False)  # the compiler verifies what it reads
    passes.run(module.operation)


def _refuse(module: ir.Module, unsupported: Callable[[ir.Operation], bool]) -> None:
    """Raises the error about the first unsupported operation."""
    for op in operations(module):
        if unsupported(op):
            raise unsupported_operation(op, op.location)


def _has_no_form(op: ir.Operation) -> bool:
    """Whether an operation would hide its operands, or makes elements that no plan holds."""
    if op.name == "stablehlo.constant":  # what uses it knows the user's line
        return False
    return op.name in _CAPTURING or any(not _is_plan_type(result.type) for result in op.results)


def _is_plan_type(type_: ir.Type) -> bool:
    element = getattr(type_, "element_type", None)
    if isinstance(element, ir.IntegerType):
        return element.width in (1, 8, 16, 32, 64)
    return isinstance(element, (ir.BF16Type, ir.F16Type, ir.F32Type, ir.F64Type))


def _is_foreign(op: ir.Operation) -> bool:
    """Whether the compiler does not take an operation."""
    return op.name in _LEFT_OVER or op.name.partition(".")[0] not in _DIALECTS


def _hoist_constants(module: ir.Module) -> list[np.ndarray]:
    """Turns every large constant that is not one repeated value into a hidden argument."""
    function = main_function(module)
    entry = function.regions[0].blocks[0]
    hoisted: dict[ir.Attribute, ir.Value] = {}
    values: list[np.ndarray] = []
    for op in operations(module, "stablehlo.constant"):
        attribute = ir.DenseElementsAttr(op.attributes["value"])
        if attribute.is_splat or not _is_large(attribute):
            continue
        if attribute not in hoisted:
            hoisted[attribute] = entry.add_argument(attribute.type, op.location)
            values.append(_elements(attribute))
        op.results[0].replace_all_uses_with(hoisted[attribute])
        op.erase()
    _retype_function(function)
    return values


def _is_large(attribute: ir.DenseElementsAttr) -> bool:
    """Whether a constant is hoisted; types that no plan holds are left to be refused later."""
    element = attribute.type.element_type
    if not isinstance(element, (ir.IntegerType, ir.FloatType)):
        return False
    # Longer constants are printed as hex, where this MLIR and the compiler's differ on the form of i1.
    if element.width == 1:
        return bool(len(attribute) > _HEX_ELEMENTS)
    return bool(len(attribute) * element.width > 8 * HOIST_BYTES)


def _elements(attribute: ir.DenseElementsAttr) -> np.ndarray:
    """The elements of a large constant. MLIR's Python interface does not hand out those of bfloat16."""
    if not isinstance(attribute.type.element_type, ir.BF16Type):
        return np.array(attribute)
    hexadecimal = str(attribute).partition('"0x')[2].partition('"')[0]  # so is every hoisted one printed
    return np.frombuffer(bytes.fromhex(hexadecimal), jnp.bfloat16).reshape(attribute.type.shape)


def _retype_function(function: ir.Operation) -> None:
    """Derives the type of a function from its block arguments and returned values."""
    entry = function.regions[0].blocks[0]
    returned = entry.operations[len(entry.operations) - 1].operation
    types = ir.FunctionType.get([v.type for v in entry.arguments], [v.type for v in returned.operands])
    function.attributes["function_type"] = ir.TypeAttr.get(types)
    for name, count in (("arg_attrs", len(types.inputs)), ("res_attrs", len(types.results))):
        function.attributes[name] = ir.ArrayAttr.get([ir.DictAttr.get({})] * count)


def _return_too(module: ir.Module, values: Sequence[ir.Value]) -> None:
    """Makes values of the entry function further results of it."""
    function = main_function(module)
    block = function.regions[0].blocks[0]
    returned = block.operations[len(block.operations) - 1].operation
    with ir.InsertionPoint(returned):
        operands = [*returned.operands, *values]
        ir.Operation.create(returned.name, operands=operands, loc=returned.location)
    returned.erase()
    _retype_function(function)


def _raise_concatenations(module: ir.Module) -> None:
    for op in operations(module, "stablehlo.concatenate"):
        _replace(op, "epl.concatenate", {"dim": op.attributes["dimension"]}, op.operands, op.results[0].type)


def _replace(
    op: ir.Operation,
    name: str,
    attributes: dict[str, ir.Attribute],
    operands: list[ir.Value],
    result: ir.Type,
) -> ir.Operation:
    with ir.InsertionPoint(op):
        new = ir.Operation.create(name, [result], list(operands), attributes, loc=op.location)
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()
    return new


def _make_signless(module: ir.Module) -> None:
    """Removes the unsigned types that the legalization leaves at arguments, results and `epl` operations.

    The legalization has chosen unsigned arithmetic where it is due and stands in casts to signless types at
    its border. Giving the border the signless types themselves leaves the casts without effect.
    """
    function = main_function(module)
    entry = function.regions[0].blocks[0]
    for value in list(entry.arguments):
        value.set_type(_signless(value.type))
    for op in operations(module, *_RAISED):
        for result in op.results:
            result.set_type(_signless(result.type))
    for op in operations(module, "builtin.unrealized_conversion_cast"):
        if len(op.operands) == 1 and _signless(op.operands[0].type) == _signless(op.results[0].type):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    _retype_function(function)


def _signless(type_: ir.Type) -> ir.Type:
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    element = type_.element_type
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return type_
    return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(element.width), type_.encoding)
