"""`epl.add_to_collection(x, "checkpoints")` in a traced step: a value that is kept for the gradient.

Problem: the user names a value and goes on with it; the name must come with the value through gradients,
`vmap`, `checkpoint`, loops and inner jits.
Method: a primitive of the effect that `jax.debug.print` has, so that JAX drops it nowhere and differentiates
through it. Lowered as EPL lowers steps, it is a custom call without results, which becomes `epl.checkpoint`
here; whatever else lowers it gets nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import hooks
from epl.adapters.jax.constraints import PLATFORM
from epl.adapters.jax.simplify import operations

CHECKPOINT = "epl.checkpoint"

_primitive = Primitive("epl_checkpoint")
_primitive.multiple_results = True


def bind(x: jax.Array) -> None:
    """Names `x` as a value that is kept."""
    _primitive.bind(x)


def _jvp(primals: Sequence[Any], _: Any) -> tuple[list[Any], list[Any]]:
    return _primitive.bind(*primals), []


def _batch(args: Sequence[Any], _: Any) -> tuple[list[Any], list[Any]]:
    return _primitive.bind(*args), []


def _lower(_: Any, x: ir.Value) -> list[ir.Value]:
    stablehlo.CustomCallOp([], [x], CHECKPOINT, has_side_effect=True)
    return []


_primitive.def_impl(lambda _: [])
_primitive.def_effectful_abstract_eval(lambda _: ([], {hooks.DEBUG_EFFECT}))
ad.primitive_jvps[_primitive] = _jvp
batching.primitive_batchers[_primitive] = _batch
mlir.register_lowering(_primitive, lambda *_: [])
mlir.register_lowering(_primitive, _lower, platform=PLATFORM)
hooks.kept_in_recomputation(_primitive)


def raise_checkpoints(module: ir.Module) -> None:
    """Custom calls of named values become `epl.checkpoint`."""
    for op in operations(module, "stablehlo.custom_call"):
        if ir.StringAttr(op.attributes["call_target_name"]).value != CHECKPOINT:
            continue
        with ir.InsertionPoint(op):
            ir.Operation.create(CHECKPOINT, operands=list(op.operands), loc=op.location)
        op.erase()
