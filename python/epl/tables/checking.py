"""Whether what a table is made of, and looked up by, is what it must be."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import ArgumentError
from epl.values import as_integer

_DTYPES = ("float32", "float64", "float16", "bfloat16")


def check_fits(array: Any, what: str) -> None:
    """Raises ArgumentError if integers are beyond JAX's type for them."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or not array.size:
        return
    limits = np.iinfo(jax.dtypes.canonicalize_dtype(array.dtype))
    if array.min() < limits.min or array.max() > limits.max:
        raise ArgumentError(
            f"{what} must fit {limits.dtype}, in which JAX has them, found {array.min()} to {array.max()}: "
            "set jax_enable_x64, or make them a batch that the step looks up as it is"
        )


def check_optimizer(optimizer: Any, about: str) -> None:
    """Raises ArgumentError for what is no optimizer of optax."""
    has_both = all(callable(getattr(optimizer, part, None)) for part in ("init", "update"))
    try:
        hash(optimizer)
    except TypeError:
        has_both = False
    if not has_both:
        raise ArgumentError(f"optimizer {about} must be one of optax, found {optimizer!r}")


def checked_dtype(dtype: Any, about: str) -> np.dtype[Any]:
    """A dtype of rows; raises ArgumentError for others."""
    found: np.dtype[Any] | None
    try:
        found = jnp.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.name not in _DTYPES:
        raise ArgumentError(f"dtype {about} must be one of {', '.join(_DTYPES)}, found {dtype!r}")
    return found


def checked_integer(what: str, value: Any, least: int, most: int) -> int:
    """An integer in a range; raises ArgumentError for others."""
    found = as_integer(value)
    if found is None:
        raise ArgumentError(f"{what} must be an integer, found {value!r}")
    if not least <= found <= most:
        raise ArgumentError(f"{what} must be an integer of {least} to {most}, found {value!r}")
    return found
