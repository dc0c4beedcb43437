"""`jax_debug_nans` and `jax_debug_infs` for parallelized steps.

Method: a plan has no checks inside; its results are looked at after every call. If one holds what is sought,
JAX runs the step on the same arguments, operation by operation, and raises its own error at the operation.
So that the arguments are still there, nothing is donated.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.padding import Padded
from epl.processes.gathering import gather
from epl.signature import is_key
from epl.stages import Compiled


def is_on() -> bool:
    """Whether results are looked at."""
    return bool(jax.config.jax_debug_nans or jax.config.jax_debug_infs)


def call(compiled: Compiled | Padded, leaves: list[Any]) -> Any:
    """Runs a step on the leaves of its arguments without donating any.

    Raises:
      FloatingPointError: at the operation that makes the first NaN or infinity, if JAX makes one too.
    """
    out = compiled.call(leaves, donate=False)
    for result, leaf in zip(compiled.lowered.results, jax.tree.leaves(gather(out)), strict=True):
        if found := _sought(leaf):
            lowered = compiled.lowered
            lowered.signature.call(lowered.spec, [_concrete(value) for value in gather(leaves)])
            raise FloatingPointError(f'{compiled.name}: result "{result.name}" holds {found}')
    return out


def _sought(leaf: Any) -> str | None:
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        return None
    value = np.asarray(leaf)
    if jax.config.jax_debug_nans and np.isnan(value).any():
        return "nan"
    return "inf" if jax.config.jax_debug_infs and np.isinf(value).any() else None


def _concrete(leaf: Any) -> Any:
    return leaf if is_key(getattr(leaf, "dtype", None)) else jnp.asarray(leaf)
