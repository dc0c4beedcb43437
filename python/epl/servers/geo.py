"""Geo-SGD: workers train by themselves, and exchange how far their parameters have moved.

Every `geo_steps` steps a worker sends, of each parameter, the difference to what it last had from the
servers, divided by the number of workers. Servers add differences as they come; the worker goes on from its
own parameters, moved by what others have added meanwhile:

    difference = (w - old) / workers      sent; the server's parameter w' += difference
    old += difference                     what the server has of this worker
    w += w' - old;  old = w'              with what others have sent

Moments stay with each worker. Source: Fluid's GeoSgdTranspiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from epl.array import Array
from epl.calling import signless, to_host
from epl.comparison import Rehearsed
from epl.compile import plan_bytes
from epl.errors import StepError
from epl.executable import PathLike, user_path
from epl.processes.gathering import gather
from epl.servers.compiling import server_options
from epl.servers.connection import Connection, connect
from epl.stages import Compiled, Lowered

if TYPE_CHECKING:
    from epl.servers.served import Served

Values = list[np.ndarray[Any, Any]]

_ADD = """func.func @add(%w: tensor<{type}> {{epl.role = "state"}},
                         %d: tensor<{type}> {{epl.role = "constant"}})
    -> (tensor<{type}> {{epl.updates = 0 : i64}}) {{
  %sum = arith.addf %w, %d : tensor<{type}>
  return %sum : tensor<{type}>
}}
"""


def additions(roles: Any) -> Any:
    """Who has what, as `epl-compile --emit=roles` says it, where servers add differences to parameters."""
    groups = []
    for group in roles["groups"]:
        (own,) = (each for each in group["arguments"] if each.get("argument") == group["parameter"])
        blocks = []
        for block in group["blocks"]:
            shape = [block["rows"], *own["shape"][1:]] if own["shape"] else []
            blocks.append({**block, "program": "x".join(map(str, [*shape, own["type"]]))})
        groups.append({**group, "arguments": [own, {**own, "kind": "push"}], "blocks": blocks})
    programs = dict.fromkeys(block["program"] for group in groups for block in group["blocks"])
    return {**roles, "groups": groups, "programs": list(programs)}


def compile_additions(roles: Any, level: str) -> dict[str, bytes]:
    """The plan files by which servers of a level of CPUs add differences, for `additions`, by their names."""
    options = server_options(level)
    return {name: plan_bytes(_ADD.format(type=name), options, "add") for name in roles["programs"]}


class GeoStep(Compiled):
    """A whole step as a worker runs it, which exchanges differences with the servers every so many steps."""

    def __init__(self, lowered: Lowered, served: Served, *, is_checked: bool) -> None:
        """The whole step's plan with the servers.

        Args:
          served: with roles as `additions` gives them.
          is_checked: whether differences must be finite.
        """
        super().__init__(served.plan, lowered)
        self._served = served
        self._job, self._role = served.job, served.role
        self._workers = served.role.workers if served.role else 1
        self._is_checked = is_checked
        self._parameters: list[int] = [group["parameter"] for group in served.roles["groups"]]

    def _results(self, leaves: list[Any], *, donate: bool | None, **options: bool) -> list[Any]:
        first = functools.partial(self._first, leaves)
        connection = connect(self._job, self._role, lambda: self._job.first_values(first))
        if not connection.had:
            connection.had = self._pull(connection)
            leaves = list(leaves)
            for number, value in zip(self._parameters, connection.had, strict=True):
                leaves[number] = value
        results = super()._results(leaves, donate=donate, **options)
        if connection.is_pushed:
            try:
                self._exchange(results, connection)
            except StepError as error:
                error.results = self.lowered.out_tree.unflatten(results)
                raise
        else:
            connection.skip()
        return results

    def save(self, path: PathLike) -> None:
        """As the base class."""
        super().save(path)
        self._served.save(user_path(path), self.lowered, "geo")

    def rehearse(self, leaves: list[Any]) -> Rehearsed:
        """As the base class: the step of this worker alone."""
        results = super()._results(leaves, donate=False, prints=False)
        return Rehearsed(self.lowered.out_tree.unflatten(results), {})

    def _run_both(self, leaves: list[Any]) -> tuple[Any, Any]:
        """As the base class."""
        expected = self._reference.call(gather(leaves), donate=False, prints=False)
        return self.rehearse(leaves).results, expected

    def _first(self, leaves: list[Any], number: int) -> np.ndarray[Any, Any]:
        return to_host(leaves[number])

    def _result_of(self, argument: int) -> int:
        """The result that is a state's next value."""
        return next(i for i, result in enumerate(self.lowered.results) if result.updates == argument)

    def _exchange(self, results: list[Any], connection: Connection) -> None:
        """Sends differences, and puts what comes back in the place of the parameters."""
        places = [self._result_of(number) for number in self._parameters]
        local = [np.asarray(results[place]) for place in places]
        found = exchange(local, connection.had, self._workers, lambda moved: self._swap(moved, connection))
        for number, place, value in zip(self._parameters, places, found, strict=True):
            buffer = self._session.state(number, signless(value))
            kind = self.lowered.out_leaves[place]
            results[place] = Array(buffer, np.dtype(kind.dtype), tuple(kind.shape))

    def _swap(self, moved: Values, connection: Connection) -> Values:
        if self._is_checked:
            connection.check_finite_pushes([[each] for each in moved])
        connection.push([[each] for each in moved])
        connection.had = self._pull(connection)
        return connection.had

    def _pull(self, connection: Connection) -> Values:
        """The servers' parameters, of the step's types."""
        kinds = (self.lowered.out_leaves[self._result_of(number)] for number in self._parameters)
        return [
            np.array(value).view(kind.dtype) for value, kind in zip(connection.pull(), kinds, strict=True)
        ]


def exchange(local: Values, old: Values, workers: int, swap: Callable[[Values], Values]) -> Values:
    """The parameters with which a worker goes on.

    Args:
      local: its own.
      old: what it last had from the servers.
      workers: how many there are.
      swap: sends differences and gives the servers' parameters behind that.
    """
    moved = [(now - had) / now.dtype.type(workers) for now, had in zip(local, old, strict=True)]
    known = [had + difference for had, difference in zip(old, moved, strict=True)]
    return [now + (theirs - mine) for now, theirs, mine in zip(local, swap(moved), known, strict=True)]
