"""The connection of a worker with its servers, of which a process has one.

The servers are processes that a role names (roles.py), or, where there is none, a thread of this process. A
job begins with the first call of a step, whose arguments are the first values, and ends with the program, or
earlier by `close`: one that ends well says goodbye, one that fails tells the servers why. `step` counts the
calls of all steps that share the parameters.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from epl import runtime
from epl.errors import ArgumentError, Error, ProcessError, StepError
from epl.processes.exits import Exits
from epl.servers import gathering
from epl.servers.credentials import stream_options
from epl.servers.deadline import deadline
from epl.servers.guarded import guarded
from epl.servers.job import Job
from epl.servers.roles import Role
from epl.servers.together import done_by_worker_0
from epl.tables import saves
from epl.tables.keeping import KEEPING, Load, TableSpec

_LOCAL_SERVERS = 1
Values = Mapping[tuple[int, int], Any]
RowsRequest = tuple[str, Any, bool, int | None]
"""Of a table: its name, ids, whether they get rows, and the id that stands for none."""
RowsPush = tuple[str, list[Any], list[Any], int | None]
"""Of a table: its name, the ids of each lookup, the gradients of these, and the id that stands for none."""
Pulled = Mapping[int, tuple[int, int]]
"""By slot of a plan, places as in `Job.sources`."""
Pushed = Mapping[int, Sequence[tuple[int, int]]]
"""By slot, the parameters whose updates read the value, each with which of its pushes it is."""


class Connection:
    """One worker of a job, which other threads than the main one use one at a time; rows all pull at will."""

    def __init__(self, job: Job, role: Role | None, first_values: Callable[[], Values]) -> None:
        """Connects, and waits until the servers are ready.

        Args:
          role: of this process; None if it is alone.
          first_values: what worker 0 gives the servers.

        Raises:
          ConfigError: for variables of the environment that do not fit.
          ProcessError: if a server does not come, or has another job.
        """
        module = runtime.module()
        self.job = job
        self._role = role
        threads = len(os.sched_getaffinity(0))
        servers = list(role.servers) if role else module.LocalServers(_LOCAL_SERVERS, threads)
        values = dict(first_values()) if self.is_first else None
        self._worker = guarded(
            module.ServersWorker,
            job.job,
            self._number_of_worker,
            time.time_ns(),
            servers,
            values,
            stream_options(os.environ),
            deadline(os.environ),
            *job.merging,
        )
        self._is_open = True
        self._rows_lock = threading.Lock()  # of who pulls or pushes rows
        self.step: int = guarded(self._worker.begin, gathering.connected())
        self._first: int = self.step
        self.had: list[Any] = []
        """In mode geo the parameters as this worker last had them from the servers, whichever step ran."""
        self._process = os.getpid()
        self._failure: str | None = None
        self._exits = Exits(lambda: self.step, self._note_failure)
        atexit.register(self._end)

    @property
    def is_first(self) -> bool:
        """Whether this is worker 0."""
        return self._number_of_worker == 0

    @property
    def _number_of_worker(self) -> int:
        return self._role.number if self._role else 0

    @property
    def has_begun(self) -> bool:
        """Whether a step has run."""
        return self.step != self._first

    def pull(self) -> Sequence[Any]:
        """The parameters for this step; arrays of NumPy that stay as they are until the next call.

        Raises:
          ProcessError: if a server, or a worker that is needed, is lost.
        """
        self._check_open()
        found: Sequence[Any] = guarded(self._worker.pull, self.step)
        return found

    def pull_rows(
        self, requests: Sequence[RowsRequest], meanwhile: Callable[[], None] | None = None
    ) -> Sequence[Any]:
        """The rows of tables that lookups of this step give, arrays of NumPy. Errors as in `pull`.

        Args:
          meanwhile: is called once they are asked for, before they come.
        """
        self._check_open()
        numbered = [(self._number(table), *rest) for table, *rest in requests]
        with self._rows_lock:
            found: Sequence[Any] = guarded(self._worker.pull_rows, self.step, numbered, meanwhile)
        return found

    def push(self, pushes: Sequence[Sequence[Any]]) -> None:
        """Hands over what this step pushes for each parameter, and goes on to the next.

        Errors as in `pull`.
        """
        guarded(self._worker.push, self.step, [list(each) for each in pushes])
        self.step += 1

    def export_table(self, table: TableSpec, folder: str, *, changed_only: bool) -> int:
        """As `Table.export`."""
        number = self._known(table)
        if not self.is_first:
            return 0
        return int(guarded(self._worker.export_table, self.step, number, folder, changed_only))

    def evict_table(self, table: TableSpec, unseen: int) -> int:
        """As `Table.evict`."""
        number = self._known(table)
        return int(guarded(self._worker.evict_table, self.step, number, unseen)) if self.is_first else 0

    def rows_of_table(self, table: TableSpec, ids: Any) -> Any:
        """The rows of ids as they are for this step; makes none. Errors as in `pull` and `check_table`."""
        self.check_table(table)
        (rows,) = self.pull_rows([(table.name, ids, False, table.padding)])
        return rows

    def save_table(self, table: TableSpec, folder: str) -> int:
        """Has the servers write all rows to files of a folder, for worker 0; how many."""
        return int(guarded(self._worker.save_table, self.step, self._known(table), folder))

    def load_table(self, load: Load) -> None:
        """As `Table.load`."""
        number = self._known(load.table)

        def load_here() -> None:
            found = saves.find(load)
            rows = guarded(self._worker.load_table, self.step, number, found.place, found.values_only)
            if found.rows not in (None, rows):
                raise ProcessError(
                    f'"{found.place}" has {rows} rows of table "{load.table.name}", expected the '
                    f"{found.rows} that were saved"
                )

        done_by_worker_0(f'the load of table "{load.table.name}"', self._role, load_here)

    def load_first(self) -> None:
        """Loads what `Table.load` was told before there was a connection; errors as of that.

        A worker that was started again finds the rows as they are now.
        """
        for name, load in list(KEEPING.loads.items()):
            self.check_table(load.table)
            if not gathering.is_late(self._role):
                self.load_table(load)
            del KEEPING.loads[name]

    def check_table(self, table: TableSpec) -> None:
        """Raises ArgumentError if the job has no such table."""
        trained = self.job.tables.get(table.name)
        if trained is None:
            known = ", ".join(f'"{name}"' for name in self.job.tables) or "none"
            raise ArgumentError(
                f'table "{table.name}" is none that the steps of this process train ({known}): give the same '
                "epl.Table"
            )
        if trained != table:
            raise ArgumentError(
                f'table "{table.name}" is another one than the steps of this process train: its '
                f"{table.difference(trained)}; give the same epl.Table"
            )

    def _known(self, table: TableSpec) -> int:
        """The number of a table; errors as of `check_table`, and Error after a goodbye."""
        self._check_open()
        self.check_table(table)
        return self._number(table.name)

    def _number(self, table: str) -> int:
        """Of a table of the job."""
        return list(self.job.tables).index(table)

    @contextlib.contextmanager
    def exchanging(self, plan: Any, pulled: Pulled, pushed: Pushed, *, keeps: bool) -> Iterator[Any]:
        """What a plan that runs in the block exchanges with the servers, as the runtime's `Outside`.

        None if it exchanges nothing. Goes on to the next step if all is pushed. One that has pushed some, and
        fails, is this worker's last.

        Args:
          pulled, pushed: of the plan's slots with such a role what each is.
          keeps: whether what the plan pushes stays here until the end of the block.

        Errors as in `pull`.
        """
        self._check_open()
        guarded(self._worker.await_room)
        outside = guarded(self._worker.outside, plan, self.step, pulled, pushed, keeps)
        self._lacks_rows = bool(self.job.tables)
        try:
            yield outside
            guarded(outside.release)
        except BaseException as error:
            outside.end()
            guarded(self._worker.check)  # this says more, if it is why the step has failed
            if outside.num_pushed and not self._has_pushed_all(outside):
                self._worker.fail(f"step {self.step} has failed when it had pushed some gradients: {error}")
            raise
        finally:
            self.step += self._has_pushed_all(outside)

    def _has_pushed_all(self, outside: Any) -> bool:
        return bool(outside.has_pushed_all) and not self._lacks_rows

    def check_finite(self, outside: Any, rows: Sequence[RowsPush]) -> None:
        """Checks what a step in `exchanging`, which keeps it, and `push_rows` would push.

        Raises:
          StepError: for a value that is not finite: what it is pushed for, step and worker.
        """
        self._checked(outside.check_finite)
        self._checked(self._worker.check_finite_rows, self._rows(rows))

    def check_finite_pushes(self, pushes: Sequence[Sequence[Any]]) -> None:
        """The same of what `push` would push."""
        self._checked(self._worker.check_finite, [list(each) for each in pushes])

    def _checked(self, check: Callable[..., Any], *arguments: Any) -> None:
        try:
            check(*arguments)
        except runtime.module().Error as error:
            raise StepError(f"step {self.step} of worker {self._number_of_worker}: {error}") from None

    def _rows(self, rows: Sequence[RowsPush]) -> list[Any]:
        """With the numbers of tables."""
        return [(self._number(table), *rest) for table, *rest in rows]

    def push_rows(self, rows: Sequence[RowsPush]) -> None:
        """Hands over what the step pushes for tables, within `exchanging`. Errors as in `pull`."""
        with self._rows_lock:
            guarded(self._worker.push_rows, self.step, self._rows(rows))
        self._lacks_rows = False

    @property
    def is_pushed(self) -> bool:
        """Whether this step hands over something: always, but in mode geo."""
        return bool(self._worker.is_pushed(self.step))

    def skip(self) -> None:
        """Goes on to the next step."""
        self.step += 1

    def fetch(self, values: Sequence[tuple[int, int]]) -> Sequence[Any]:
        """Values as this step has them, none twice; places as in `Job.sources`, errors as in `pull`."""
        self._check_open()
        found: Sequence[Any] = guarded(self._worker.fetch, self.step, list(values))
        return found

    def close(self) -> None:
        """Says goodbye, if it has not yet: this worker takes no part any more. Errors as in `pull`."""
        if self._is_open and os.getpid() == self._process:
            self._finish()

    def _finish(self) -> None:
        self._is_open = False
        gathering.leave()  # while server 0 is there: it ends with the last worker
        guarded(self._worker.finish, self.step)

    def _check_open(self) -> None:
        if not self._is_open:
            raise Error("this worker has said goodbye to its servers")

    def _note_failure(self, why: str) -> None:
        self._failure = why

    def _end(self) -> None:
        """At the end of the program."""
        if os.getpid() != self._process or not self._is_open:
            return
        if (failure := self._failure or self._exits.exited) is not None:
            self._is_open = False
            self._worker.fail(failure)
            return
        try:
            self._finish()
        except ProcessError as error:
            print(f"epl: {error}", file=sys.stderr, flush=True)
            os._exit(1)  # the exit code of a program that has ended is 0


_connection: Connection | None = None


def connect(job: Job, role: Role | None, first_values: Callable[[], Values]) -> Connection:
    """The connection of this process, which the first call makes; arguments as of `Connection`.

    Raises:
      Error: if it has one for other parameters.
      ArgumentError: if it has one that merges gradients in another way.
      ProcessError: as the docstring of `Connection` says.
    """
    global _connection
    if _connection is None:
        _connection = KEEPING.keeper = Connection(job, role, first_values)
    elif _connection.job.job.hash != job.job.hash:
        difference = job.difference(_connection.job)
        raise Error(
            f"the servers of this process hold the parameters of another step: {difference}; a process "
            "trains one set of parameters by servers"
        )
    elif _connection.job.merging != job.merging:
        raise ArgumentError(
            "merge and max_merge of epl.ParameterServer must be those of the first step of this process, "
            f"{_connection.job.merging}, found {job.merging}"
        )
    _connection.load_first()
    return _connection


def current() -> Connection | None:
    """The connection of this process, if it has one."""
    return _connection


def disconnect() -> None:
    """Says goodbye to the servers, if this process has a connection; errors as in `Connection.pull`."""
    if _connection is not None:
        _connection.close()
