"""`jax_debug_nans` and `jax_debug_infs` for parallelized steps.

Method: a plan has no checks inside; its results are looked at after every call. Of a result that is in parts
each process looks at its own, and what it finds it tells to all. If one holds what is sought,
JAX runs the step on the same arguments, operation by operation, and raises its own error at the operation.
So that the arguments are still there, nothing is donated.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.padding import Padded
from epl.processes.gathering import gather, is_divided, own_parts
from epl.processes.group import current
from epl.processes.local_part import LocalPart
from epl.signature import is_key
from epl.stages import Compiled


def is_on() -> bool:
    """Whether results are looked at."""
    return bool(jax.config.jax_debug_nans or jax.config.jax_debug_infs)


def call(compiled: Compiled | Padded, leaves: list[Any]) -> Any:
    """Runs a step on the leaves of its arguments without donating any.

    Raises:
      FloatingPointError: at the operation that makes the first NaN or infinity, if JAX makes one too. A note
        of it says which result holds it, and in which processes.
    """
    out = compiled.call(leaves, donate=False)
    if (found := _first(compiled, jax.tree.leaves(out))) is None:
        return out
    lowered = compiled.lowered
    try:
        is_whole = not any(isinstance(leaf, LocalPart) for leaf in leaves)  # JAX needs the whole batch
        if is_whole and lowered.is_repeatable:
            lowered.signature.call(lowered.spec, [_concrete(value) for value in gather(leaves)])
    except FloatingPointError as error:
        error.add_note(found)
        raise
    raise FloatingPointError(found)


def _first(compiled: Compiled | Padded, values: list[Any]) -> str | None:
    """What is found in the first result that holds what is sought; all processes say the same."""
    here, group = [_sought(value) for value in values], current()
    is_told = group is not None and any(map(is_divided, values))
    said = group.share(here, "a search for NaNs") if group is not None and is_told else [here]
    for result, value, *found in zip(compiled.lowered.results, values, *said, strict=True):
        if any(found):
            what = next(filter(None, found))
            where = [group.describe(i) for i, one in enumerate(found) if one] if group is not None else []
            place = f" in {', '.join(where)}" if is_divided(value) else ""
            return f'{compiled.name}: result "{result.name}" holds {what}{place}'
    return None


def _sought(value: Any) -> str | None:
    """What this process has of it."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return None
    parts = [part for _, part in own_parts(value)] if is_divided(value) else [np.asarray(value)]
    if jax.config.jax_debug_nans and any(np.isnan(part).any() for part in parts):
        return "nan"
    return "inf" if jax.config.jax_debug_infs and any(np.isinf(part).any() for part in parts) else None


def _concrete(leaf: Any) -> Any:
    return leaf if is_key(getattr(leaf, "dtype", None)) else jnp.asarray(leaf)
