"""How a program ends: well, by an error that nobody has caught, or by `sys.exit` with an error."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from epl.places import is_library


class Exits:
    """Sees the end of this process's program, from when it is made on."""

    def __init__(self, count: Callable[[], int], tell: Callable[[str], None]) -> None:
        """Hooks into Python.

        Args:
          count: of what the program has done so far. After a `sys.exit` that somebody catches it grows.
          tell: is given an error of the main thread that nobody has caught, in one line with the user's
            place, once Python has shown it.
        """
        self.has_shown = False
        """Whether the user has seen why the program ends."""
        self._count, self._tell = count, tell
        self._process = os.getpid()
        self._exit: tuple[str, int] | None = None  # the last call of sys.exit that is an error, and when
        self._show, self._leave = sys.excepthook, sys.exit
        sys.excepthook, sys.exit = self._on_error, self._on_exit

    @property
    def exited(self) -> str | None:
        """At the end of the program: the `sys.exit` with an error that it ends by."""
        if self._exit is None or self._exit[1] != self._count():
            return None
        self.has_shown = True
        return self._exit[0]

    def _on_error(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        self.has_shown = True
        self._show(kind, error, trace)
        if os.getpid() == self._process and threading.current_thread() is threading.main_thread():
            said = [kind.__name__, *str(error).splitlines()[:1]]  # of Ctrl-C there is no text
            self._tell(f"{': '.join(said)}{_place(traceback.extract_tb(trace))}")

    def _on_exit(self, status: Any = None, /) -> NoReturn:
        """Ends the program as `sys.exit` does. One that somebody catches is none, if the run goes on."""
        stack = traceback.extract_stack()[:-1]
        self._exit = None if not status else (f"SystemExit: {status}{_place(stack)}", self._count())
        self._leave(status)


def _place(frames: Sequence[traceback.FrameSummary]) -> str:
    """The user's line of a stack."""
    own = [frame for frame in frames if not is_library(frame.filename)] or frames
    return f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
