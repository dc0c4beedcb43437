"""A thread that saves behind the program.

Problem: orbax writes behind the program, but has it wait while it begins to: it describes the tree, makes
folders and waits for the other processes several times, which takes longer than to copy a state of 100 MB.
Method: one thread begins all saves, and waits for their ends, since orbax raises what has failed once in each
thread that waits. Whatever else is asked of orbax comes when that thread has done its work.
Invariant: one thread at a time asks orbax for something. So processes that save and restore in one order meet
in its barriers in one order. What writes afterwards, in threads of orbax's own, meets under names of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from epl.errors import ProcessError
from epl.processes import group

_PERIOD = 0.3  # seconds between two looks at the other processes

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="epl-save")
_last: Future[Any] | None = None


def behind(action: Callable[[], Any]) -> Future[Any]:
    """Has the thread do something after all that it was told before."""
    global _last
    _last = _thread.submit(action)
    return _last


def await_behind() -> None:
    """Waits until the thread has done all that it was told.

    Raises:
      ProcessError: if another process is lost, for which the thread may wait without end.
    """
    while _last is not None and wait([_last], _PERIOD).not_done:
        present = group.current()
        if present is not None and present.failure is not None:
            raise ProcessError(present.failure)
