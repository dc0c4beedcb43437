"""Saves that still run when the program ends are waited for.

Problem: what writes behind the program uses threads that Python takes no work for any more once it ends: a
save that nobody has waited for would be lost, and the program end as if all were well.
Method: before Python closes its thread pools, all checkpoints that are open are closed. If a save has failed,
that is shown, and the exit code is 1.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import thread as _pools
from typing import NoReturn, Protocol

from epl.errors import Error
from epl.processes import group


class Closable(Protocol):
    """What is closed at the end."""

    def close(self) -> None:
        """Waits for what runs; raises Error if it has failed."""


_open: dict[Closable, None] = {}  # in the order of their opening, which is that of all processes


def add(each: Closable) -> None:
    """Has something closed at the end of the program, unless it is `remove`d before."""
    _open[each] = None


def remove(each: Closable) -> None:
    """It is closed."""
    _open.pop(each, None)


def _close_all() -> None:
    """Where a process of the run is lost, nobody can save."""
    present = group.current()
    for each in list(_open):
        if present is not None and present.is_failing:
            return
        try:
            each.close()
        except Error as error:
            print(f"epl: {error}", file=sys.stderr, flush=True)
            _fail(str(error))


def _fail(why: str) -> None:
    present = group.current()
    if present is not None:
        present.watch.tell(why)  # its end has the exit code
    else:
        atexit.register(_end_failed)


def _end_failed() -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


# Those that are registered last are called first: before the pools are closed, which are loaded above.
assert _pools is not None
_register: Callable[[Callable[[], None]], None] = threading._register_atexit  # type: ignore[attr-defined]
_register(_close_all)
