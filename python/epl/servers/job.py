"""What servers hold of a step, for the runtime: blocks, the plans that update them, first values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epl import runtime
from epl.calling import signless_dtype
from epl.errors import ArgumentError, UnsupportedError, reason
from epl.servers.strategy import ParameterServer
from epl.tables.apply import Updates
from epl.tables.keeping import TableSpec
from epl.values import as_integer

DTYPES = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
"""NumPy's names of the compiler's types of elements."""

_ON_LOST = {"end": "end_job", "continue": "go_on"}
_MOST_ROWS = 2**63  # ids have 63 bits
PARAMETER = -1
"""The parameter itself, in the place of a state's number."""


@dataclass(frozen=True)
class Held:
    """What servers hold of one argument of the step: a parameter, or one of its states."""

    parameter: int
    state: int


class Job:
    """A step's parameters on servers.

    job: the runtime's `ServersJob`. held: by the number of the step's argument. copied: arguments of which
    workers and servers have copies, since no gradient changes them, such as a rate of decay. sources: of each
    value of the job, (parameter, state), the argument of the step that has its first value. tables: by name.
    merging: how a worker merges gradients that wait, the strategy's `merge` and `max_merge`.
    types: of parameters, by name, such as float32[8].
    """

    def __init__(
        self,
        roles: Any,
        strategy: ParameterServer,
        servers: int,
        workers: int,
        plans: Mapping[str, bytes],
        tables: Mapping[TableSpec, Updates] | None = None,
    ) -> None:
        """Deals out blocks.

        Args:
          roles: what `epl-compile --emit=roles` says.
          servers, workers: how many there are.
          plans: the programs of servers, by name.
          tables: how rows of tables are updated.

        Raises:
          ArgumentError: if the strategy's dispatch is a function that names other servers.
          UnsupportedError: if an update reads what servers cannot take the average of, or has no gradient
            that mode "dc_asgd" compensates.
        """
        self.merging = (strategy.merge, strategy.max_merge)
        self.held: dict[int, Held] = {}
        self.copied: set[int] = set()
        self.sources: dict[tuple[int, int], int] = {}
        dispatch = _dispatcher(strategy, servers)
        order = {program: number for number, program in enumerate(roles["programs"])}
        arguments: dict[str, list[tuple[str, int]]] = {}
        parameters = []
        own = {each["argument"] for each in roles["worker"]["arguments"] if each["kind"] == "state"}
        for number, group in enumerate(roles["groups"]):
            _check_pushes(group, strategy, workers)
            self._note_sources(number, group, own)
            names = [block["name"] for block in group["blocks"]]
            places = dispatch(names)
            parameters.append(_parameter(group, places, order))
            for block in group["blocks"]:
                arguments[block["program"]] = arguments_of(group)
        listed = [(arguments[program], plans[program]) for program in roles["programs"]]
        self.types = {name: f"{dtype}{shape}" for name, dtype, shape, *_ in parameters}
        known = tables or {}
        self.tables = {table.name: table for table in known}
        rows = [_table(each, known[each], len(listed) + number) for number, each in enumerate(known)]
        listed += [(_arguments_of_rows(updates), updates.plan) for updates in known.values()]
        steps = strategy.geo_steps if strategy.mode == "geo" else 0
        on_lost = _ON_LOST[strategy.on_lost]
        self.job = runtime.module().ServersJob(
            strategy.mode, on_lost, workers, servers, steps, parameters, listed, rows
        )

    def _note_sources(self, number: int, group: Any, own: Container[int]) -> None:
        """Notes what a group holds; `own`: arguments that workers have for themselves."""
        for place, argument in [(PARAMETER, _parameter_of(group)), *enumerate(_states(group))]:
            self.sources[number, place] = argument["argument"]
            # Of a state that several groups have copies of, the first one's is what the step returns; of one
            # that workers have, too, theirs.
            if argument["argument"] in own:
                self.copied.add(argument["argument"])
            else:
                self.held.setdefault(argument["argument"], Held(number, place))

    def first_values(self, leaf: Callable[[int], np.ndarray[Any, Any]]) -> dict[tuple[int, int], Any]:
        """What servers begin with; `leaf` gives an argument of the step."""
        return {place: leaf(argument) for place, argument in self.sources.items()}

    def difference(self, held: Job) -> str:
        """The first thing in which the parameters are not those of another job."""
        faults = [
            *_others("parameter", self.types, held.types),
            *_others("table", self.tables, held.tables),
            *(
                f'parameter "{name}" is {found}, expected {held.types[name]}'
                for name, found in self.types.items()
                if held.types.get(name, found) != found
            ),
            *(
                f'of table "{name}" the {table.difference(held.tables[name])}'
                for name, table in self.tables.items()
                if held.tables.get(name, table) != table
            ),
        ]
        return faults[0] if faults else "what updates them, or a setting of epl.ParameterServer, differs"


def _others(kind: str, found: Collection[str], expected: Collection[str]) -> list[str]:
    """What one of two jobs has, and not the other."""
    more = [f'{kind} "{name}" is not among them' for name in found if name not in expected]
    return more + [f'{kind} "{name}" is not in this step' for name in expected if name not in found]


def _parameter(group: Any, places: Sequence[int], order: Mapping[str, int]) -> tuple[Any, ...]:
    """A parameter as the runtime's `ServersJob` has it."""
    own = _parameter_of(group)
    states = [(each["name"], *_tensor(each)) for each in _states(group)]
    pushes = [_tensor(each) for each in pushes_of(group)]
    blocks = []
    for block, server in zip(group["blocks"], places, strict=True):
        shape = [block["rows"], *own["shape"][1:]] if own["shape"] else []
        blocks.append((block["name"], block["offset"], block["size"], shape, server, order[block["program"]]))
    return own["name"], DTYPES[own["type"]], own["shape"], states, pushes, blocks


def _table(table: TableSpec, updates: Updates, plan: int) -> tuple[Any, ...]:
    """A table as the runtime's `ServersJob` has it, whose rows plan number `plan` updates."""
    slots = [
        (slot.name, signless_dtype(slot.first.dtype).name, list(slot.first.shape), slot.first.tobytes())
        for slot in updates.slots
    ]
    init = (table.init.kind, table.init.scale)
    rows = _MOST_ROWS if table.rows is None else table.rows
    padding = -1 if table.padding is None else table.padding
    kind = (table.dtype.name, table.dim, slots, init)
    return table.name, *kind, table.seed, plan, table.admit, rows, padding


def _arguments_of_rows(updates: Updates) -> list[tuple[str, int]]:
    """What each argument of the plan that updates rows is."""
    states = [("state", number) for number in range(len(updates.slots))]
    return [("parameter", PARAMETER), *states, ("gradient", 0)]


def _tensor(argument: Any) -> tuple[str, list[int], bool]:
    return DTYPES[argument["type"]], argument["shape"], argument["sliced"]


def _is_parameter(group: Any, argument: Any) -> bool:
    """Whether that is what the group is named for; others that workers read, too, are states."""
    return argument["kind"] not in ("push", "backup") and bool(argument["argument"] == group["parameter"])


def _parameter_of(group: Any) -> Any:
    return next(each for each in group["arguments"] if _is_parameter(group, each))


def _states(group: Any) -> list[Any]:
    kinds = ("push", "backup")
    return [e for e in group["arguments"] if e["kind"] not in kinds and not _is_parameter(group, e)]


def pushes_of(group: Any) -> list[Any]:
    """What workers push for a group, as `epl-compile --emit=roles` says it, in the order of its update."""
    return [argument for argument in group["arguments"] if argument["kind"] == "push"]


def arguments_of(group: Any) -> list[tuple[str, int]]:
    """What each argument of the plan that updates a parameter is: its kind, and its number or `PARAMETER`."""
    found: list[tuple[str, int]] = []
    states, pushes = itertools.count(), itertools.count()
    for argument in group["arguments"]:
        if _is_parameter(group, argument):
            found.append(("parameter", PARAMETER))
        elif argument["kind"] == "backup":
            found.append(("backup", PARAMETER))
        elif argument["kind"] == "push":
            found.append(("gradient", next(pushes)))
        else:
            found.append(("state", next(states)))
    return found


def _check_pushes(group: Any, strategy: ParameterServer, workers: int) -> None:
    """Raises UnsupportedError if servers cannot apply what workers push for a group."""
    pushes = pushes_of(group)
    kinds = [f"{DTYPES[each['type']]}{each['shape']}" for each in pushes]
    if strategy.mode == "sync" and workers > 1:
        for each, kind in zip(pushes, kinds, strict=True):
            if "f" not in each["type"]:
                raise UnsupportedError(
                    f'the update of "{group["name"]}" reads {kind} that workers push: in mode "sync" servers '
                    f"take the average over {workers} workers, expected floats"
                )
    has_backup = any(each["kind"] == "backup" for each in group["arguments"])
    if strategy.mode == "dc_asgd" and not has_backup:
        own = _parameter_of(group)
        raise UnsupportedError(
            f'the update of "{group["name"]}" reads {", ".join(kinds)} that workers push: mode "dc_asgd" '
            f"compensates a gradient {DTYPES[own['type']]}{own['shape']}, expected one among these"
        )


def _dispatcher(strategy: ParameterServer, servers: int) -> Callable[[Sequence[str]], Sequence[int]]:
    """What says which server has each block of a parameter, for one parameter after another."""
    if callable(strategy.dispatch):
        return _checked(strategy.dispatch, servers)
    module = runtime.module()
    made = module.HashName(servers) if strategy.dispatch == "hash" else module.RoundRobin(servers)
    dispatch: Callable[[Sequence[str]], Sequence[int]] = made.dispatch
    return dispatch


def _checked(
    dispatch: Callable[[Sequence[str]], Sequence[int]], servers: int
) -> Callable[[Sequence[str]], Sequence[int]]:
    def checked(names: Sequence[str]) -> list[int]:
        try:
            found: Any = dispatch(list(names))
            found = list(found) if isinstance(found, Iterable) else found
        except Exception as error:
            raise ArgumentError(
                f"dispatch of epl.ParameterServer was called for {list(names)}, expected a server of 0 to "
                f"{servers - 1} for each, and has raised {type(error).__name__}: {reason(error)}"
            ) from error
        is_good = isinstance(found, list) and len(found) == len(names)
        if not is_good or any(as_integer(place) not in range(servers) for place in found):
            raise ArgumentError(
                f"dispatch of epl.ParameterServer must give a server of 0 to {servers - 1} for each block of "
                f"{list(names)}, found {found!r}"
            )
        return [int(place) for place in found]

    return checked
