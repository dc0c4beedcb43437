"""Watches the other processes of a run, and ends this one if one of them is lost.

Problem: MPI notices nothing when a process has gone: the others wait for its messages without end.
Method: a thread asks the coordination service several times a second who is alive (a process that is killed
or stopped gives no sign of life), and reads what processes have left in the store: that one has raised an
error, or has ended. On a loss the running calls end with a `ProcessError`, and later ones raise it; a
moment later the process ends the hard way, since it may wait in something that can't be told. It never ends
MPI then, which would wait for the lost one.

    another process ...                      is noticed by                            after
    is killed, or its machine is             no sign of life                          HEARTBEAT
    is stopped (SIGSTOP), or hangs as such   no sign of life                          HEARTBEAT
    raises an error, or calls sys.exit(1)    what it leaves in the store              PERIOD
    breaks a step off, and catches that      what it leaves in the store              PERIOD
    ends before an operation of this one     the number of operations that it leaves  PERIOD
    does something else                      the operation that it leaves             _PATIENCE
    is lost while all end                    this one's end takes too long            _END_SECONDS
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from epl.adapters.jax import coordination
from epl.processes.exits import Exits
from epl.processes.patience import Patience

if TYPE_CHECKING:
    from epl.processes.group import Group

PERIOD = 0.3
"""Seconds between two looks at the other processes."""

GRACE = 1.5
"""Seconds from a loss to the hard end: for the program to show its error, and to end by itself."""

_PATIENCE = 1.0  # seconds after which who waits compares what it does with the others
_HEARD_SECONDS = 2.0  # for the others to read why this process fails
_END_SECONDS = 5.0  # from when all have ended: the end of MPI waits for all


class Watch:
    """The watch of one process."""

    def __init__(self, group: Group, client: coordination.Client, service: Any) -> None:
        """Watches through a connection to the service; `service` itself in process 0, else None."""
        self._group = group
        self._service = service
        self._pid = os.getpid()
        self._over = threading.Event()
        self._closes = threading.Event()  # all have ended, and MPI does
        self._failed: str | None = None  # why this process itself has
        self._patience = Patience(group, client)
        self._said = 0  # the operation that the others know this process to be in
        self._ended: dict[int, int] = {}  # by process the operations that it has done
        self.client = client

    def start(self) -> None:
        """Begins to watch."""
        works = (self._look_again, self._count_again)
        self._threads = [threading.Thread(target=work, name="epl-watch", daemon=True) for work in works]
        guard = threading.Thread(target=self._guard_end, name="epl-end", daemon=True)
        for thread in (*self._threads, guard):
            thread.start()
        self._exits = Exits(lambda: self._group.operations, self.tell)
        atexit.register(self._end)

    @property
    def has_failed(self) -> bool:
        """Whether this process ends with an error."""
        return self._failed is not None

    # Threads.

    def _look_again(self) -> None:
        """Looks for what others have left, and ends the process if it has to."""
        while not self._over.is_set():
            self._try(self._look)
            if self._group.failure is not None:
                self._over.wait(GRACE)
                if not self._over.is_set():
                    self._end_hard()
            self._over.wait(PERIOD)

    def _count_again(self) -> None:
        """Looks who lives. The answer waits for all who live, be it that one is silent for a while."""
        while not self._over.is_set():
            self._try(self._count)
            self._over.wait(PERIOD)

    def _try(self, look: Callable[[], None]) -> None:
        try:
            look()
        except ConnectionError as error:
            if not self._over.is_set():
                self._group.fail(f"the coordination service of the run does not answer: {error}")

    def _look(self) -> None:
        group = self._group
        self._tell_fault()
        left = self.client.found("epl")
        for process, text in _of_processes(left, "failed"):
            if process != group.process:
                self._lose(process, f"has failed: {text}")
        self._ended = {process: int(text) for process, text in _of_processes(left, "ended")}
        for process, operations in self._ended.items():
            if operations < group.operations:
                self._lose(
                    process,
                    f"has ended after {operations} steps and exchanges of the run, and this process is in "
                    f"number {group.operations}",
                )

        self._compare(left)
        self._patience.look(dict(_of_processes(left, "asks")))

    def _compare(self, left: Mapping[str, str]) -> None:
        """Whether processes that wait for a while are in the same operation."""
        group = self._group
        number = group.operations
        if number > self._said and time.monotonic() - group.began > _PATIENCE:
            self._said = number
            said = json.dumps([number, group.recent[number]])
            self.client.put(f"epl/at/{group.process}", said, replace=True)
        for process, text in _of_processes(left, "at"):
            number, what = json.loads(text)
            own = group.recent.get(number, what)
            if own != what:
                self._lose(
                    process,
                    f"does something else: number {number} of the steps and exchanges of the run is {what} "
                    f"there, and {own} in process {group.process}; expected the same in one order",
                )

    def _count(self) -> None:
        """Processes leave the service when all have ended, and not before."""
        missing = set(range(self._group.processes)) - self.client.live(self._group.processes)
        if missing and len(self.client.found("epl/ended")) == self._group.processes:
            return
        for process in missing:
            seconds = coordination.HEARTBEAT
            self._lose(process, f"is lost: no sign of life for {seconds} s; was it killed or stopped?")

    def _lose(self, process: int, what: str) -> None:
        self._group.fail(f"{self._group.describe(process)} {what}")

    # The end of this process.

    def tell(self, why: str) -> None:
        """Lets the others know why this process fails, which ends with exit code 1."""
        if self._group.failure is not None or self._failed is not None:
            return  # this is what came of it
        self._failed = why
        with contextlib.suppress(ConnectionError):
            self.client.put(f"epl/failed/{self._group.process}", why, replace=True)

    def _tell_fault(self) -> None:
        """Others wait for what this process does not send, be it that the program goes on."""
        if fault := self._group.fault:
            self.tell(fault)

    def _end(self) -> None:
        """At the end of the program: waits for the others, so that none of them misses this one."""
        if os.getpid() != self._pid:
            return
        if (exited := self._exits.exited) is not None:
            self.tell(exited)
        self._tell_fault()
        if self._failed is not None or self._group.failure is not None:
            self._await_heard()
            self._end_hard()
        self._try(self._await_all)
        if self._group.failure is not None:
            self._end_hard()
        self._closes.set()
        self._over.set()
        self.client.close()
        for thread in self._threads:  # one that asks the service must not come back when Python has ended
            thread.join()
        self._group.finalize()  # all have closed
        if self._service is not None:
            self._service.end()

    def _guard_end(self) -> None:
        """Ends the process, if the others are not there to end MPI with it."""
        self._closes.wait()
        time.sleep(_END_SECONDS)
        group = self._group
        others = [group.describe(other) for other in range(group.processes) if other != group.process]
        group.fail(f"all have ended, but MPI does not: of {', '.join(others)} one is lost")
        self._end_hard()

    def _await_all(self) -> None:
        self.client.put(f"epl/ended/{self._group.process}", str(self._group.operations))
        while len(self._ended) < self._group.processes and self._group.failure is None:
            time.sleep(PERIOD / 10)
            self._look()

    def _await_heard(self) -> None:
        """Lets the others end by themselves, with an error that says why, before the launcher ends them."""
        end = time.monotonic() + _HEARD_SECONDS
        while self._failed is not None and time.monotonic() < end:
            try:
                if self.client.live(self._group.processes) <= {self._group.process}:
                    return
            except ConnectionError:
                return
            time.sleep(PERIOD / 3)

    def _end_hard(self) -> None:
        self._over.set()
        if not self._exits.has_shown:
            why = self._failed or self._group.failure
            print(f"epl: process {self._group.process} ends: {why}", file=sys.stderr)
        if self._service is not None:
            self._service.fail()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _of_processes(left: Mapping[str, str], folder: str) -> Iterator[tuple[int, str]]:
    """What each process has left in a folder of the store."""
    for key, text in left.items():
        _, found, process = key.split("/")
        if found == folder:
            yield int(process), text
