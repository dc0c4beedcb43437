"""Paddle's numbers of dtypes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_NAMES = {
    0: "bool",
    1: "int16",
    2: "int32",
    3: "int64",
    4: "float16",
    5: "float32",
    6: "float64",
    20: "uint8",
    21: "int8",
    22: "bfloat16",
}
NUMBERS = {name: number for number, name in _NAMES.items()}


def stored(number: int) -> np.dtype[Any] | None:
    """The dtype that Paddle has; None for a number that is no type of tensors of numbers."""
    return jnp.dtype(_NAMES[number]) if number in _NAMES else None


def computed(number: int) -> np.dtype[Any]:
    """The dtype that JAX computes in: of 64 bits only where `jax_enable_x64` is set."""
    found: np.dtype[Any] = jax.dtypes.canonicalize_dtype(_NAMES[number])
    return found
