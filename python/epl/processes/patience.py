"""Says what a process waits for, when it has waited for long.

Problem: a run that stands still says nothing. A process may compute for an hour before it takes its part in
the next step, or wait for something that never comes; who waits for it can't know which.
Method: where nothing has moved for EPL_STUCK_SECONDS (default 300), the process writes to standard error in
which step it is, which command of which source line waits for which process, and where that one's Python
stands. It asks for this through the store: each process leaves its stack there. It goes on waiting, and says
it again after twice the time.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from epl.adapters.jax.coordination import Client
from epl.errors import ConfigError

if TYPE_CHECKING:
    from epl.processes.group import Group

_VARIABLE = "EPL_STUCK_SECONDS"
_DEFAULT = 300.0
_ANSWER_SECONDS = 1.0  # for the others to leave their stacks
_MOST_MESSAGES = 8  # that are listed


class Patience:
    """How long one process has waited, and whether others ask where it stands."""

    def __init__(self, group: Group, client: Client) -> None:
        """Raises `ConfigError` if the environment has no number of seconds."""
        self._group, self._client = group, client
        self._limit = self._first = read_limit(os.environ.get(_VARIABLE, ""))
        self._moved = -1
        self._since = time.monotonic()  # nothing has moved
        self._asked = 0  # how often this process has asked
        self._answered: dict[int, str] = {}  # what others have asked

    def look(self, asks: Mapping[int, str]) -> None:
        """Answers who asks, and asks if it is time; called again and again.

        Args:
          asks: by process, how often it has asked.
        """
        for process, number in asks.items():
            if self._answered.get(process) != number:
                self._answered[process] = number
                self._client.put(f"epl/stack/{self._group.process}", _stack(), replace=True)
        moved = self._group.num_moved + self._group.operations
        if moved != self._moved or not self._group.is_waiting:
            self._moved, self._since, self._limit = moved, time.monotonic(), self._first
        elif time.monotonic() - self._since > self._limit:
            self._say(time.monotonic() - self._since)
            self._limit *= 2

    def _say(self, seconds: float) -> None:
        self._asked += 1
        self._client.put(f"epl/asks/{self._group.process}", str(self._asked), replace=True)
        time.sleep(_ANSWER_SECONDS)
        stacks = {int(key.rpartition("/")[2]): text for key, text in self._client.found("epl/stack").items()}
        print(self._describe(seconds, stacks), file=sys.stderr, flush=True)

    def _describe(self, seconds: float, stacks: dict[int, str]) -> str:
        group = self._group
        number = group.operations
        what = group.recent.get(number, "nothing")
        lines = [
            f"epl: process {group.process} has waited for {seconds:.0f} s in {what}, number {number} of the "
            "steps and exchanges of the run:"
        ]
        messages = group.waiting()
        for command, location, device, process, is_sent, count in messages[:_MOST_MESSAGES]:
            verb = "to" if is_sent else "from"
            lines.append(
                f'  command "{command}"{f" of {location}" if location else ""} on device {device} waits for '
                f"{count} bytes {verb} {group.describe(process)}"
            )
        if len(messages) > _MOST_MESSAGES:
            lines.append(f"  and {len(messages) - _MOST_MESSAGES} more messages")
        awaited = {message[3] for message in messages} or set(range(group.processes)) - {group.process}
        where = [
            f"  {group.describe(process)} stands at:\n{stacks[process].rstrip()}"
            for process in sorted(awaited & set(stacks))
        ]
        return "\n".join([*lines, *where])


@contextlib.contextmanager
def said(who: str, what: str) -> Iterator[None]:
    """Says what is waited for, as long as the body takes, after EPL_STUCK_SECONDS and twice the time.

    For the start: what another process does that has not come is not known.
    """
    seconds = read_limit(os.environ.get(_VARIABLE, ""))
    over = threading.Event()

    def say() -> None:
        waited = 0.0
        while not over.wait(waited or seconds):
            waited = 2 * waited or seconds
            print(f"epl: {who} has waited for {waited:.0f} s {what}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=say, name="epl-start", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def read_limit(text: str) -> float:
    """The seconds that EPL_STUCK_SECONDS says; the default for nothing."""
    try:
        seconds = float(text or _DEFAULT)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise ConfigError(
            f'{_VARIABLE} in the environment must be a number of seconds above 0, found "{text}"'
        )
    return seconds


def _stack() -> str:
    """Where the main thread stands."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "".join(traceback.format_stack(frame)) if frame else "nowhere: the main thread has ended"
