"""What Paddle's ops compute, as functions of JAX, by kind; a file has a family of them.

A function takes the inputs by the names that the op has for them, and the attributes, and gives the outputs
likewise. Meanings are those of Paddle 2.6's kernels.
"""

from epl.paddle.operators import (
    constants,
    convolutions,
    elementwise,
    indices,
    losses,
    normalizations,
    products,
    reductions,
    shapes,
)
from epl.paddle.operators.table import TABLE, Inputs

__all__ = [
    "TABLE",
    "Inputs",
    "constants",
    "convolutions",
    "elementwise",
    "indices",
    "losses",
    "normalizations",
    "products",
    "reductions",
    "shapes",
]
