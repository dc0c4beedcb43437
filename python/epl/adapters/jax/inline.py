"""Inlines all private functions of a StableHLO module into `main`, with the name stacks of the calls.

Problem: JAX lowers inner `jit`s (`relu`, `_where`, `log_softmax`, ...) to calls. The operations of a callee
know only the inner end of their name stack; scope and phase stand at the call. MLIR's inliner refuses
callees that hold operations of dialects that it does not know, and jaxlib's inlines no function calls at
all.
Method: clone the callee's body at the call, with location `callsite(callee's at call's)`, until no call is
left.
Invariant out: one function, `main`, without calls; an operation's name stack is its chain of call sites.
"""

from __future__ import annotations

from jaxlib.mlir import ir


def inline_calls(module: ir.Module) -> None:
    """Inlines all calls of `main`, erases the other functions. Recursion does not occur: JAX unrolls it."""
    functions = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    main = functions.pop("main")
    while calls := _calls(main):
        for call in calls:
            _inline(call, functions[ir.FlatSymbolRefAttr(call.attributes["callee"]).value])
    for function in functions.values():
        function.erase()


def _calls(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _inline(call: ir.Operation, function: ir.Operation) -> None:
    body = function.regions[0].blocks[0]
    values: dict[ir.Value, ir.Value] = dict(zip(body.arguments, call.operands, strict=True))
    with ir.InsertionPoint(call):
        for op in body.operations:
            if op.operation.name == "func.return":
                for result, value in zip(call.results, op.operation.operands, strict=True):
                    result.replace_all_uses_with(values.get(value, value))
            else:
                clone = op.operation.clone()
                _adopt(clone.operation, values, call.location)
                values.update(zip(op.operation.results, clone.operation.results, strict=True))
    call.erase()


def _adopt(op: ir.Operation, values: dict[ir.Value, ir.Value], caller: ir.Location) -> None:
    """Makes a clone use the caller's values, in its regions too, and say where it was called."""

    def visit(nested: ir.Operation) -> ir.WalkResult:
        for index, operand in enumerate(nested.operands):
            if operand in values:
                nested.operands[index] = values[operand]
        nested.location = _called_at(nested.location, caller)
        return ir.WalkResult.ADVANCE

    op.walk(visit)


def _called_at(callee: ir.Location, caller: ir.Location) -> ir.Location:
    return caller if callee == ir.Location.unknown() else ir.Location.callsite(callee, [caller])
