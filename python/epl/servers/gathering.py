"""What workers tell one another through server 0, and their being there, which all servers see.

A process has one such connection, from `epl.init` on, and so before there is a job. Each call of
`share` is a round that all workers take part in, in the same order; one that has ended, or is lost, is an
error in all others. A worker that is lost before it has begun a job is missed by these streams: without them
servers would wait for it, and it for a server, until the deadline.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from epl import progress, runtime
from epl.processes.exits import Exits
from epl.servers.credentials import stream_options
from epl.servers.deadline import deadline
from epl.servers.guarded import guarded
from epl.servers.roles import Role


class Gathering:
    """All-gathers of one worker with all others; for one thread at a time."""

    def __init__(self, role: Role) -> None:
        """Connects with all servers; returns at once.

        Raises:
          ConfigError: for variables of the environment that do not fit.
        """
        self.gather: Any = guarded(
            runtime.module().ServersGather,
            list(role.servers),
            role.number,
            role.workers,
            time.time_ns(),
            stream_options(os.environ),
            deadline(os.environ),
        )
        self._process = os.getpid()
        self._has_left = False
        self._rounds = 0
        self._failure = ""
        self._exits = Exits(lambda: self._rounds, self._note_failure)
        atexit.register(self._end)

    @property
    def is_late(self) -> bool:
        """Whether this worker was started again, behind rounds that others have had; errors as of `share`."""
        return bool(guarded(self.gather.begin))

    def share(self, what: str, content: bytes, sender: int = -1) -> list[bytes]:
        """What each worker gives, in the order of their numbers.

        Args:
          what: it is for; all say the same.
          sender: a worker whose content alone is wanted: nothing is waited for but that.

        Raises:
          ProcessError: names a worker that has ended, is lost, or is at something else; if a server is lost.
        """
        guarded(self.gather.begin)
        self._rounds += 1
        shared: list[bytes] = guarded(self.gather.share, what, content, sender)
        return shared

    def knows(self, *, goes_on: bool) -> None:
        """Tells the servers whether the job goes on without workers other than worker 0 that are lost.

        Before they know, and before they have the job, such a worker ends it.
        """
        self.gather.knows(goes_on)

    def check(self) -> None:
        """Raises ProcessError once a server is lost or has ended, unless this worker has left."""
        if not self._has_left:
            guarded(self.gather.check)

    def leave(self, failure: str = "") -> None:
        """Takes no part any more, which the others are told; with a text: cannot go on."""
        if os.getpid() == self._process:
            self._has_left = True
            self.gather.leave(failure)

    def _note_failure(self, why: str) -> None:
        self._failure = why

    def _end(self) -> None:
        """At the end of the program."""
        self.leave(self._failure or self._exits.exited or "")


_gathering: Gathering | None = None


def gathering_of(role: Role) -> Gathering:
    """The one of this process, which the first call makes; errors as of `Gathering`."""
    global _gathering
    if _gathering is None:
        _gathering = Gathering(role)
    return _gathering


def connected() -> Any:
    """The runtime's `ServersGather` of this process; None if it has none."""
    return _gathering.gather if _gathering is not None else None


def is_late(role: Role | None) -> bool:
    """Whether this process was started again, behind rounds that other workers have had."""
    return role is not None and role.workers > 1 and gathering_of(role).is_late


@contextlib.contextmanager
def seen_compiling(role: Role | None, *, goes_on: bool) -> Iterator[None]:
    """For the block that compiles a step: servers see from here on that this process lives.

    If they end the job, or one is lost, that ends the compiler with a ProcessError.

    Args:
      role: of this process; None if it is alone.
      goes_on: as of `Gathering.knows`.
    """
    if role is None:
        yield
        return
    gathering = gathering_of(role)
    gathering.knows(goes_on=goes_on)
    with progress.checking(gathering.check):
        yield


def leave() -> None:
    """Takes no part any more, if this process has a connection."""
    if _gathering is not None:
        _gathering.leave()
