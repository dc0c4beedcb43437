"""Fluid's layers, over Paddle 2.6: each appends ops to the default program, and returns what they make.

Layers have the names, arguments and defaults of Paddle Fluid 1.8; those of sequences of varying lengths (LoD)
and of control flow are not there. `dir(epl.fluid.layers)` lists them.

Operators between variables (`x * y`) are Paddle 2.6's: last dimensions go together, as in
`elementwise_mul(x, y)`. For a `y` of fewer dimensions that begins with a batch Fluid took the first ones, as
`elementwise_mul(x, y, axis=0)` does.
"""

from __future__ import annotations

from typing import Any

from epl.fluid.layers import (
    creation,
    io,
    learning_rate_scheduler,
    loss,
    metric,
    nn,
    same,
    shapes,
    single,
    tensor,
    windows,
)
from epl.fluid.layers.registry import LAYERS, missing

__all__ = [
    "creation",
    "io",
    "learning_rate_scheduler",
    "loss",
    "metric",
    "nn",
    "same",
    "shapes",
    "single",
    "tensor",
    "windows",
]

globals().update(LAYERS)


def __getattr__(name: str) -> Any:
    raise AttributeError(missing("epl.fluid.layers has no layer", name, LAYERS))


def __dir__() -> list[str]:
    return sorted({*__all__, *LAYERS})
