"""Seeds of runs: what a program draws is given by its `random_seed` and by how often it has run."""

from __future__ import annotations

import secrets
from typing import Any


def begin(program: Any) -> int:
    """The `random_seed` of a program of Paddle; if that is 0, any number."""
    return int(program.random_seed) or secrets.randbits(32)


class Seeds:
    """The seeds of the runs of a program, from a number on."""

    def __init__(self, begin: int) -> None:
        self._begin = begin
        self._runs = 0

    def next(self) -> int:
        """The seed of the next run, a number of 32 bits."""
        self._runs += 1
        return (self._begin * 0x9E3779B1 + self._runs) % (1 << 32)
