"""Work that several threads ask for at once, and that one of them does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any


class Once:
    """Runs a function for the first thread that asks for a key; those that ask meanwhile wait for its result.

    A thread that waits gets the result or the error; if the thread that works is interrupted (Ctrl-C),
    another one does the work. Nothing is remembered after that. Compare `singleflight` of Go.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Hashable, Future[Any]] = {}

    def run(self, key: Hashable, function: Callable[[], Any]) -> Any:
        """What `function` returns, run by this thread or by one that asked before."""
        while True:
            with self._lock:
                running = self._running.get(key)
                if running is None:
                    mine = self._running[key] = Future()
            if running is None:
                return self._work(key, mine, function)
            try:
                return running.result()
            except _Interrupted:
                continue

    def _work(self, key: Hashable, future: Future[Any], function: Callable[[], Any]) -> Any:
        try:
            result = function()
        except Exception as error:
            self._end(key)
            future.set_exception(error)
            raise
        except BaseException:
            self._end(key)
            future.set_exception(_Interrupted())
            raise
        self._end(key)
        future.set_result(result)
        return result

    def _end(self, key: Hashable) -> None:
        with self._lock:
            del self._running[key]


class _Interrupted(Exception):  # noqa: N818  (no error: the next thread takes over)
    """The thread that worked was interrupted."""


_MAKING = Once()  # by object and attribute


def kept(owner: Any, name: str, make: Callable[[], Any]) -> Any:
    """The attribute `name` of an object, which `make` gives when it is first asked for.

    However many threads ask, it is made once. Those that ask for that of another object do not wait, as they
    do with `functools.cached_property` of Python 3.11, which has one lock for all objects.
    """
    attributes = vars(owner)

    def find_or_make() -> Any:
        if name not in attributes:
            attributes[name] = make()
        return attributes[name]

    return _MAKING.run((id(owner), name), find_or_make)
