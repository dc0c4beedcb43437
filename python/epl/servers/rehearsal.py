"""A step as a worker and its servers would do it, in this process and without a change of anything.

Problem: what a step gives is compared with what something else gives, and servers would apply the gradients
of a call. Method: the worker's plan runs on values that were fetched, and what it pushes is applied to copies
of these by the servers' plans, block by block, as if this were the only worker.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from epl import runtime
from epl.calling import signless
from epl.executable import Executable
from epl.servers.credentials import stream_options
from epl.servers.deadline import deadline
from epl.servers.guarded import guarded
from epl.servers.job import Job, arguments_of
from epl.servers.strategy import ParameterServer
from epl.tables.apply import Updates
from epl.tables.keeping import TableSpec

Array = np.ndarray[Any, Any]
Values = Mapping[tuple[int, int], Array]
"""What servers hold; places as in `Job.sources`."""

_NOTHING = {"worker": {"arguments": [], "results": []}, "groups": [], "programs": []}


class Rehearsal:
    """The servers' part of a step.

    Args:
      roles: what `epl-compile --emit=roles` says.
      plans: the programs of servers, by name.
    """

    def __init__(self, roles: Any, plans: Mapping[str, bytes]) -> None:
        self._roles = roles
        load = runtime.module().Plan.from_bytes
        self._programs = {name: _executable(load(plan), name) for name, plan in plans.items()}

    def updated(self, values: Values, pushed: Sequence[Array]) -> dict[tuple[int, int], Array]:
        """What servers hold then; `pushed`: by one worker, in the order of its plan."""
        found: dict[tuple[int, int], Array] = {}
        for number, group in enumerate(self._roles["groups"]):
            parts = [self._block(number, group, block, values, pushed) for block in group["blocks"]]
            for place, argument in _held(group):
                own = [part[place] for part in parts]
                found[number, place] = np.concatenate(own) if argument["sliced"] else own[0]
        return found

    def _block(
        self, number: int, group: Any, block: Any, values: Values, pushed: Sequence[Array]
    ) -> dict[int, Array]:
        """What a block has of parameter and states behind its update, by their places."""
        rows = slice(block["begin"], block["begin"] + block["rows"])
        arguments = list(zip(arguments_of(group), group["arguments"], strict=True))
        given = []
        for (kind, place), argument in arguments:
            whole = pushed[argument["push"]] if kind == "gradient" else values[number, place]
            given.append(signless(np.array(whole[rows] if argument["sliced"] else whole)))
        program = self._programs[block["program"]]
        results = program.run(list(given), donate=False, as_numpy=True)
        made = {place: given[i] for i, ((kind, place), _) in enumerate(arguments) if kind in _KEPT}
        for slot, value in zip(_results(program), results, strict=True):
            made[arguments[slot.updates][0][1]] = np.asarray(value)
        return made


_KEPT = ("parameter", "state")


def _held(group: Any) -> list[tuple[int, Any]]:
    """What servers hold of a group: the place of each, and its argument."""
    pairs = zip(arguments_of(group), group["arguments"], strict=True)
    return [(place, argument) for (kind, place), argument in pairs if kind in _KEPT]


def _results(program: Executable) -> list[Any]:
    return [slot for slot in program.plan.slots if slot.role == "result"]


def _executable(plan: Any, name: str) -> Executable:
    return Executable(plan, plan.device_string, name)


def new_rows(tables: Mapping[TableSpec, Updates], requests: Sequence[Any]) -> Sequence[Array]:
    """The rows of lookups of tables that have none yet, as `Connection.pull_rows` gives them.

    A server in this process makes them, for this call alone.
    """
    names = [table.name for table in tables]
    numbered = [(names.index(name), ids, False, padding) for name, ids, _, padding in requests]
    with own_server(tables) as (worker, step):
        rows: Sequence[Array] = guarded(worker.pull_rows, step, numbered)
    return rows


@contextlib.contextmanager
def own_server(tables: Mapping[TableSpec, Updates]) -> Iterator[tuple[Any, int]]:
    """A server of tables in this process, for the block alone: its worker, of the runtime, and a step."""
    job = Job(_NOTHING, ParameterServer(), 1, 1, {}, tables)
    module = runtime.module()
    options = stream_options(os.environ), deadline(os.environ)
    local = module.LocalServers(1, 1)
    worker = guarded(module.ServersWorker, job.job, 0, time.time_ns(), local, {}, *options)
    step: int = guarded(worker.begin)
    yield worker, step
    guarded(worker.finish, step)
