"""Between the user's arrays and the runtime's: what a leaf hands over, what a result becomes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl import runtime
from epl.adapters.jax import hooks
from epl.array import Array
from epl.errors import ArgumentError
from epl.processes.local_part import LocalPart
from epl.signature import DTYPES, is_key


@functools.cache
def leaves(*, waits: bool = False) -> Any:
    """The runtime's reader of leaves (runtime/binding/Leaves.h).

    Args:
      waits: whether it is for calls that return when the step has ended: NumPy's arrays are read where they
        are then, since their owner cannot write them meanwhile.
    """
    dtypes = [jnp.dtype(name) for name in sorted(DTYPES)]
    read = _lent if waits else to_host
    return runtime.module().Leaves(
        Array, hooks.ARRAY_TYPE, np.ndarray, hooks.KEY_TYPE, LocalPart, dtypes, read
    )


def caller(
    session: Any,
    name: str,
    slots: Sequence[Any],
    kinds: Sequence[Any],
    hidden: Sequence[Any],
    kept: Sequence[bool],
    *,
    as_numpy: bool = False,
) -> Any:
    """What runs a step on leaves and gives its results (runtime/binding/Caller.h).

    Args:
      session: of the runtime.
      name: of the step, for messages.
      slots: the plan's results.
      kinds: of the results, for the user: `jax.ShapeDtypeStruct`s.
      hidden: buffers of the last arguments, which the user does not pass.
      kept: of each result whether it stays on the devices, as states do.
      as_numpy: whether the other results are arrays of NumPy, which are quicker to make than those of JAX.
    """
    forms = [_form(*result, as_numpy) for result in zip(slots, kinds, kept, strict=True)]
    reader = leaves(waits=not all(kept))  # as the caller itself finds out
    return runtime.module().Caller(session, reader, Array, forms, list(hidden), name)


def to_host(leaf: Any) -> np.ndarray[Any, Any]:
    """A leaf that is no `epl.Array` as contiguous numpy memory that the user does not write."""
    if isinstance(leaf, np.ndarray):  # first: it is quick to tell, and most leaves that come here are
        return signless(np.array(leaf, jax.dtypes.canonicalize_dtype(leaf.dtype)))
    if isinstance(leaf, jax.Array):
        return signless(np.asarray(jax.random.key_data(leaf) if is_key(leaf.dtype) else leaf))
    if isinstance(leaf, jax.ShapeDtypeStruct):
        raise ArgumentError(f"a step runs on arrays, found {leaf!r}, which is for lower()")
    dtype = jax.dtypes.canonicalize_dtype(getattr(leaf, "dtype", None) or jax.dtypes.result_type(leaf))
    try:
        return signless(np.array(leaf, dtype=dtype))
    except OverflowError:
        raise ArgumentError(f"{leaf!r} does not fit {dtype.name}, JAX's type for it") from None


def _lent(leaf: Any) -> np.ndarray[Any, Any]:
    """As `to_host`, but without a copy of what is an array as plans have it."""
    if not isinstance(leaf, np.ndarray) or jax.dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype:
        return to_host(leaf)
    return signless(leaf) if leaf.flags.aligned else to_host(leaf)


def in_memory(kind: Any) -> Any:
    """A value's shape and dtype in memory: of typed keys those of their numbers, of others their own."""
    if not is_key(kind.dtype):
        return kind
    return jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(kind.shape, kind.dtype))


def signless(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Contiguous, unsigned integers as the signed ones of their size: plans have signless integers."""
    if not value.flags.c_contiguous:
        value = np.ascontiguousarray(value).reshape(value.shape)
    return value.view(signless_dtype(value.dtype))


def signless_dtype(dtype: Any) -> np.dtype[Any]:
    """That of plans: unsigned integers are the signed ones of their size there."""
    found = np.dtype(dtype)
    return np.dtype(f"i{found.itemsize}") if found.kind == "u" else found


def _form(slot: Any, kind: Any, kept: bool, as_numpy: bool) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """What a result becomes, as runtime/binding/Caller.h has it: what is kept stays on the devices."""
    wrap = None
    dtype = kind.dtype
    if is_key(dtype):
        wrap, dtype = hooks.key_wrapper(dtype), np.uint32
    if kept:
        return None, wrap, np.dtype(dtype), slot.shape
    if (slot.hidden or as_numpy) and wrap is None:  # what is hidden is looked at here, in every step
        return functools.partial(_viewed, np.dtype(dtype)), None, dtype, slot.shape
    adopt = hooks.adopter(slot.shape, np.dtype(dtype), kind.weak_type)
    return adopt, wrap, dtype, slot.shape


def _viewed(dtype: Any, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return value if value.dtype == dtype else value.view(dtype)
