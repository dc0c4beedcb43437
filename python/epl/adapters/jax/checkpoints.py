"""`epl.add_to_collection(x, "checkpoints")` in a traced step: a value that is kept for the gradient.

Problem: the user names a value and goes on with it; the name must come with the value through gradients,
`vmap`, `checkpoint`, loops and inner jits.
Method: a marker (`markers.py`). Lowered as EPL lowers steps, it is a custom call without results, which
becomes `epl.checkpoint` here; whatever else lowers it gets nothing.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax.constraints import PLATFORM
from epl.adapters.jax.markers import marker
from epl.adapters.jax.simplify import operations

CHECKPOINT = "epl.checkpoint"

_primitive = marker("epl_checkpoint")


def bind(x: jax.Array) -> None:
    """Names `x` as a value that is kept."""
    _primitive.bind(x)


def _lower(_: Any, x: ir.Value) -> list[ir.Value]:
    stablehlo.CustomCallOp([], [x], CHECKPOINT, has_side_effect=True)
    return []


mlir.register_lowering(_primitive, _lower, platform=PLATFORM)


def raise_checkpoints(module: ir.Module) -> None:
    """Custom calls of named values become `epl.checkpoint`."""
    for op in operations(module, "stablehlo.custom_call"):
        if ir.StringAttr(op.attributes["call_target_name"]).value != CHECKPOINT:
            continue
        with ir.InsertionPoint(op):
            ir.Operation.create(CHECKPOINT, operands=list(op.operands), loc=op.location)
        op.erase()
