"""`epl.constrain` in a traced step: an identity that keeps what the user says of a value.

Problem: what is said of a value must come with it through gradients, `vmap`, `checkpoint` and loops, and be
seen by nothing but EPL's compiler.
Method: a primitive of its own. It is bound in steps that EPL traces only. Lowered as EPL lowers them, it is a
custom call, which becomes `epl.constrain` here; whatever else lowers it gets the identity. A cotangent is
constrained as its value is. `vmap` says nothing of the dimension that it adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.simplify import operations

CONSTRAIN = "epl.constrain"

Axes = tuple[str, ...]

PLATFORM = "tpu"
"""The one that steps are lowered for: cpu lowers random bits to a rolled loop, cuda to a custom call."""

_primitive = Primitive("epl_constrain")


def bind(x: jax.Array, split: Sequence[Axes], whole: Axes) -> jax.Array:
    """Says of `x` which axes split each of its dimensions, and over which it is whole."""
    result: jax.Array = _primitive.bind(x, split=tuple(split), whole=whole)
    return result


def _transpose(cotangent: Any, _: Any, **said: Any) -> list[Any]:
    return [_primitive.bind(cotangent, **said)]


def _batch(args: Sequence[Any], batched: Sequence[int], *, split: Sequence[Axes], whole: Axes) -> Any:
    [x], [dim] = args, batched
    return _primitive.bind(x, split=(*split[:dim], (), *split[dim:]), whole=whole), dim


def _lower(_: Any, x: ir.Value, *, split: Sequence[Axes], whole: Axes) -> list[ir.Value]:
    text = "<[" + ", ".join(map(_axis_set, split)) + "]"
    text += f", whole = {_axis_set(whole)}>" if whole else ">"
    call = stablehlo.CustomCallOp(
        [x.type], [x], CONSTRAIN, has_side_effect=False, backend_config=ir.StringAttr.get(text)
    )
    return list(call.results)


def _axis_set(axes: Axes) -> str:
    return "{" + ", ".join(str(ir.StringAttr.get(axis)) for axis in axes) + "}"


_primitive.def_impl(lambda x, **_: x)
_primitive.def_abstract_eval(lambda x, **_: x)
ad.deflinear2(_primitive, _transpose)
batching.primitive_batchers[_primitive] = _batch
mlir.register_lowering(_primitive, lambda _, x, **__: [x])
mlir.register_lowering(_primitive, _lower, platform=PLATFORM)


def raise_constraints(module: ir.Module) -> None:
    """Custom calls of constraints become `epl.constrain`."""
    for op in operations(module, "stablehlo.custom_call"):
        if ir.StringAttr(op.attributes["call_target_name"]).value != CONSTRAIN:
            continue
        text = ir.StringAttr(op.attributes["backend_config"]).value
        said = {"constraint": ir.Attribute.parse(f"#epl.constraint{text}")}
        with ir.InsertionPoint(op):
            new = ir.Operation.create(
                CONSTRAIN, [op.results[0].type], list(op.operands), said, loc=op.location
            )
        op.results[0].replace_all_uses_with(new.results[0])
        op.erase()
