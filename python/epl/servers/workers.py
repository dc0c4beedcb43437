"""`epl.workers`: the workers of a job with parameter servers, and sums over them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from epl.errors import ArgumentError, Error
from epl.processes import group
from epl.servers.gathering import gathering_of
from epl.servers.roles import Role, own_role


class Workers:
    """The workers of a job with parameter servers: `epl.workers`.

    Each has batches of its own, and so measures of its own, whose sum is that of the whole data. AUC, say,
    follows from counts of scores:

        positives = epl.workers.sum(np.histogram(scores[labels == 1], bins=4096, range=(0, 1))[0])
        negatives = epl.workers.sum(np.histogram(scores[labels == 0], bins=4096, range=(0, 1))[0])

    A program that is alone is one worker. All workers must call `sum` and `mean`, equally often and for
    arrays of one shape, in any step; they wait for one another.
    """

    @property
    def number(self) -> int:
        """Which worker this process is, from 0 on.

        Raises:
          ConfigError: for an environment that does not say it.
          Error: in a group of processes, which has no workers.
        """
        role = _role()
        return role.number if role else 0

    @property
    def count(self) -> int:
        """How many workers there are; errors as of `number`."""
        role = _role()
        return role.workers if role else 1

    def sum(self, value: Any) -> Any:
        """The sum of an array, or of a number, over all workers; all have it.

        It is added up in the order of the workers, in the array's own type (truth values are counted), so
        that it is the same in all of them, bit by bit.

        Raises:
          ArgumentError: for what is no array of numbers.
          ProcessError: if a worker has ended, is lost, or is at something else; names it.
        """
        return self._sum(value, "epl.workers.sum")

    def mean(self, value: Any) -> Any:
        """The sum of an array, or of a number, over all workers, divided by their count.

        That is the mean of all rows where workers have equally many. Errors as of `sum`.
        """
        return self._sum(value, "epl.workers.mean") / self.count

    @staticmethod
    def _sum(value: Any, name: str) -> Any:
        array = np.asarray(value)
        if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
            raise ArgumentError(f"{name} needs an array of numbers, found {array.dtype.name}")
        if array.dtype == np.bool_:
            array = array.astype(np.int64)
        role = _role()
        if role is None:
            return array.copy()[()]
        what = f"{name} of {array.dtype.name}{list(array.shape)}"
        shared = gathering_of(role).share(what, array.tobytes())
        parts = [np.frombuffer(each, array.dtype).reshape(array.shape) for each in shared]
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
        return total[()]


def _role() -> Role | None:
    """What this process is among workers; None if it is alone."""
    if (joined := group.current()) is not None and joined.processes > 1:
        raise Error(
            f"epl.workers are those of parameter servers, and this is process {joined.process} of a group of "
            f"{joined.processes} processes without any"
        )
    return own_role(os.environ)


workers = Workers()
