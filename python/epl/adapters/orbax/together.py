"""Has a save that fails in one process fail in all of them, with the reason.

Problem: behind the program the processes of a save meet when all have written, and when process 0 has given
the checkpoint its name. One that fails (a full disk) does not come, and the others wait for twenty minutes,
the failed one for them in a later meeting. Method: it says in the store of the run why it fails, and comes.
Who has met the others looks there. So all fail in one place, and go on to what comes after a save.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from epl.adapters.orbax import hooks
from epl.checkpoints.agreement import first_difference
from epl.errors import Error, reason
from epl.processes.group import Group


class Together:
    """The saves of one manager."""

    def __init__(self, manager: Any, group: Group, name: str) -> None:
        """Has them fail in all processes; `name`: of the manager, the same in all."""
        self._group, self._client = group, group.watch.client
        self._place = name
        self._begun = self._saves = self._meetings = 0
        self._directory: Any = None
        self._is_told = False  # of a failure of others
        self._commits = hooks.Commits(manager, self._save, self._meet)

    def agree(self, number: int, kinds: Mapping[str, str], metrics: Mapping[str, float] | None) -> None:
        """Waits until all processes begin to save, and compares what; called by the thread behind.

        Raises:
          Error: in all processes, if they save under other numbers, other trees, or with other metrics.
        """
        self._begun += 1
        leaves = (f"{path}: {kind}" for path, kind in sorted(kinds.items()))
        numbers = (f"metric {name} = {value!r}" for name, value in sorted((metrics or {}).items()))
        own = json.dumps([f"step {number}", *leaves, *numbers])
        digest = hashlib.sha256(own.encode()).hexdigest()
        if len(set(self._said("digest", digest))) == 1:
            return
        trees = [json.loads(text) for text in self._said("tree", own)]
        for process, tree in enumerate(trees):
            if different := first_difference(trees[0], tree, "nothing"):
                here, there = different
                raise Error(f"process 0 saves {here} where {self._group.describe(process)} saves {there}")

    def _said(self, what: str, own: str) -> list[str]:
        """What each process says of the save that begins."""
        place = f"{self._place}/begin/{self._begun}/{what}"
        self._client.put(f"{place}/{self._group.process}", own)
        self._commits.wait(place, self._commits.limit)
        found = {int(key.rpartition("/")[2]): text for key, text in self._client.found(place).items()}
        return [found[process] for process in sorted(found)]

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
