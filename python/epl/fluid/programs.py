"""Programs of Paddle as EPL has them, read once each."""

from __future__ import annotations

import weakref
from typing import Any

from epl.errors import ArgumentError
from epl.paddle.program import Program, load

_read: weakref.WeakKeyDictionary[Any, tuple[str, Program]] = weakref.WeakKeyDictionary()


def imported(program: Any) -> Program:
    """A program of Paddle; read again when it has changed.

    Raises:
      ArgumentError: for what is none.
      UnsupportedError: as of `epl.paddle.load`.
    """
    description = getattr(program, "desc", None)
    if description is None or not hasattr(description, "cached_hash_str"):
        raise ArgumentError(f"expected a Program of Paddle, found {type(program).__name__}")
    version = description.cached_hash_str()
    known = _read.get(program)
    if known is None or known[0] != version:
        known = _read[program] = version, load(program)
    return known[1]
