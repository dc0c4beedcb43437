"""How processes of a run are started: their environment, and that they end with the launcher."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def environment_of(attempt: int) -> dict[str, str]:
    """The variables of processes that are started for the given time, from 0 on."""
    own = {name: value for name, value in os.environ.items() if name != "EPL_PROCESS_OF"}
    return own | {"EPL_RESTART": str(attempt)}


def end_with_parent() -> None:
    """Has the kernel end this child when the launcher is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
