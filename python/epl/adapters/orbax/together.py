"""Has a save that fails in one process fail in all of them, with the reason.

Problem: behind the program the processes of a save meet when all have written, and when process 0 has given
the checkpoint its name. One that fails (a full disk) does not come, and the others wait for twenty minutes,
the failed one for them in a later meeting. Method: it says in the store of the run why it fails, and comes.
Who has met the others looks there. So all fail in one place, and go on to what comes after a save.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

from epl.adapters.orbax import hooks
from epl.errors import Error, reason
from epl.processes.group import Group

_managers = itertools.count()  # all processes open them in one order


class Together:
    """The saves of one manager."""

    def __init__(self, manager: Any, group: Group) -> None:
        """Has them fail in all processes."""
        self._group, self._client = group, group.watch.client
        self._place = f"epl/saves/{next(_managers)}"
        self._saves = self._meetings = 0
        self._directory: Any = None
        self._is_told = False  # of a failure of others
        self._commits = hooks.Commits(manager, self._save, self._meet)

    def _save(self, directory: Any, work: Callable[[], BaseException | None]) -> None:
        self._saves += 1
        self._meetings, self._directory, self._is_told = 0, directory, False
        error = work()
        if error is None or self._is_told:
            return
        with contextlib.suppress(Error, ConnectionError, RuntimeError):  # it has an error of its own
            self._client.put(f"{self._place}/{self._saves}/{self._group.process}", reason(error))
            self._commits.release()
            self._meet(self._commits.limit)

    def _meet(self, limit: int) -> None:
        """Waits for the other processes; raises Error if one of them has failed."""
        self._meetings += 1
        self._commits.wait(f"{self._place}/{self._saves}/meeting {self._meetings}", limit)
        for key, text in sorted(self._client.found(f"{self._place}/{self._saves}").items()):
            self._is_told = True
            process = self._group.describe(int(key.rpartition("/")[2]))
            raise Error(f'"{self._directory}" was not saved: {process} has failed: {text}')
