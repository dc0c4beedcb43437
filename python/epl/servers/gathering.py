"""What workers tell one another through server 0, of which a process has one connection.

It is there without a job, and so before the first step. Each call of `share` is a round that all workers take
part in, in the same order; one that has ended, or is lost, is an error in all others.
"""

from __future__ import annotations

import atexit
import os
import time

from epl import runtime
from epl.servers.credentials import stream_options
from epl.servers.deadline import deadline
from epl.servers.guarded import guarded
from epl.servers.roles import Role


class Gathering:
    """All-gathers of one worker with all others; for one thread at a time."""

    def __init__(self, role: Role) -> None:
        """Connects with server 0; returns at once.

        Raises:
          ConfigError: for variables of the environment that do not fit.
        """
        self._gather = guarded(
            runtime.module().ServersGather,
            role.servers[0],
            role.number,
            role.workers,
            time.time_ns(),
            stream_options(os.environ),
            deadline(os.environ),
        )
        self._process = os.getpid()
        atexit.register(self.leave)

    @property
    def is_late(self) -> bool:
        """Whether this worker was started again, behind rounds that others have had; errors as of `share`."""
        return bool(guarded(self._gather.begin))

    def share(self, what: str, content: bytes, sender: int = -1) -> list[bytes]:
        """What each worker gives, in the order of their numbers.

        Args:
          what: it is for; all say the same.
          sender: a worker whose content alone is wanted: nothing is waited for but that.

        Raises:
          ProcessError: names a worker that has ended, is lost, or is at something else; if server 0 is lost.
        """
        guarded(self._gather.begin)
        shared: list[bytes] = guarded(self._gather.share, what, content, sender)
        return shared

    def leave(self) -> None:
        """Takes no part any more, which the others are told."""
        if os.getpid() == self._process:
            self._gather.leave()


_gathering: Gathering | None = None


def gathering_of(role: Role) -> Gathering:
    """The one of this process, which the first call makes; errors as of `Gathering`."""
    global _gathering
    if _gathering is None:
        _gathering = Gathering(role)
    return _gathering


def is_late(role: Role | None) -> bool:
    """Whether this process was started again, behind rounds that other workers have had."""
    return role is not None and role.workers > 1 and gathering_of(role).is_late


def leave() -> None:
    """Takes no part any more, if this process has a connection."""
    if _gathering is not None:
        _gathering.leave()
