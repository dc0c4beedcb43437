"""What Paddle's ops compute, as functions of JAX, by kind; a file has a family of them.

A function takes the inputs by the names that the op has for them, and the attributes, and gives the outputs
likewise. Meanings are those of Paddle 2.6's kernels.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from epl.paddle import dtypes
from epl.paddle.operators import (
    activations,
    collectives,
    constants,
    convolutions,
    elementwise,
    gradients,
    indices,
    losses,
    metrics,
    normalizations,
    optimizers,
    products,
    random,
    reductions,
    resizing,
    shapes,
)
from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator

__all__ = [
    "TABLE",
    "Inputs",
    "Operator",
    "activations",
    "collectives",
    "constants",
    "convolutions",
    "dtype_of",
    "elementwise",
    "find",
    "gradients",
    "indices",
    "losses",
    "metrics",
    "normalizations",
    "optimizers",
    "products",
    "random",
    "reductions",
    "resizing",
    "shapes",
]


def dtype_of(attributes: Attributes) -> np.dtype[Any]:
    """The dtype that an op says, as JAX computes."""
    return dtypes.computed(attributes["dtype"])


def find(kind: str) -> Operator | None:
    """The function of an op, or of the gradient of one; None if it is not in the table."""
    of = kind.removesuffix(gradients.OF)
    if kind in TABLE or of == kind or of not in TABLE:
        return TABLE.get(kind)
    return functools.partial(gradients.vjp, of)
