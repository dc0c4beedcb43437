"""Seeds of runs: what a program draws is given by its `random_seed` and by how often it has run."""

from __future__ import annotations

import secrets
import weakref
from typing import Any


class Seeds:
    """The seeds of programs; those of one whose `random_seed` is 0 begin anywhere, or with `begin`."""

    def __init__(self, begin: int | None = None) -> None:
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._begin = secrets.randbits(32) if begin is None else begin

    def next(self, program: Any) -> int:
        """The seed of a program's next run, a number of 32 bits."""
        run = self._runs.get(program, 0)
        self._runs[program] = run + 1
        begin = program.random_seed or self._begin
        return (begin * 0x9E3779B1 + run) % (1 << 32)
