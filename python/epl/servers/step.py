"""A step whose parameters servers hold, as a worker runs it.

The compiler deals a lowered step out:

    who has what (job.py)  ->  blocks on servers, and the plans that update them
    the worker's plan      ->  each call: pulls parameters and pushes gradients while it runs
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from epl.array import Array
from epl.calling import signless_dtype, to_host
from epl.comparison import CheckReport
from epl.compile import load_or_compile
from epl.devices import count_devices
from epl.errors import ArgumentError, StepError, UnsupportedError
from epl.executable import Executable
from epl.servers import compiling, geo
from epl.servers.buffers import FetchedBuffer, ServedBuffer
from epl.servers.connection import Connection, connect
from epl.servers.evaluation import EvaluationStep
from epl.servers.job import PARAMETER, Job, pushes_of
from epl.servers.rows import Rows
from epl.servers.sharing import Plans, agreed_level, compile_for_all
from epl.servers.strategy import ParameterServer, role_of
from epl.stages import Compiled, Lowered
from epl.tables.apply import updates_of
from epl.tables.ids import Ids
from epl.tables.steps import StepTables


@dataclass(frozen=True)
class ServedLowered(Lowered):
    """A lowered step that is trained with servers.

    In its program the rows of `tables` stand behind the arguments, and their gradients behind the results.
    """

    strategy: ParameterServer = field(default_factory=ParameterServer)
    tables: StepTables | None = None

    @property
    def has_tables(self) -> bool:
        """As the base class."""
        return self.tables is not None

    @property
    def has_states(self) -> bool:
        """Whether the step has a state beside tables."""
        return any(argument.role == "state" for argument in self.arguments)

    def _compile(self, *, reference: bool) -> Compiled:
        if reference:
            return super()._compile(reference=True)
        if self.tables is not None and not self.tables.trained and not self.has_states:
            options = (*self.options, *self.precision.options)
            text, name = self.program.text, self.signature.name
            plan = compiling.compile_worker(text, self.devices, name, options, is_whole=True)
            return EvaluationStep(plan, self, self.tables)
        served = Served(self)
        if self.strategy.mode == "geo":
            return geo.GeoStep(self, served.job, served.roles, served.role, served.plan)
        return ServedStep(self, served)


class Served:
    """What servers hold of a step, and do with it, and the plan of a worker."""

    def __init__(self, lowered: ServedLowered) -> None:
        """Has the compiler deal the step out, and worker 0 compile it for all.

        Raises:
          CompileError: with the user's source line, if the step cannot be dealt out or does not compile.
          UnsupportedError: for what is not there yet.
        """
        strategy, name, text = lowered.strategy, lowered.signature.name, lowered.program.text
        self.role = role = role_of(strategy)
        servers, workers = (len(role.servers), role.workers) if role else (1, 1)
        cut = compiling.options_of(strategy, servers)
        more = (*lowered.options, *lowered.precision.options)
        is_worker_alone = not lowered.has_states and lowered.tables is not None
        if is_worker_alone:
            self.roles = self._worker_alone(lowered)
        else:
            self.roles = compiling.describe(text, lowered.devices, name, cut, more)
        is_geo = strategy.mode == "geo"
        if is_geo:
            self.roles = geo.additions(self.roles)
        devices = count_devices(lowered.devices)

        def compile_here(level: str) -> Plans:
            if is_geo:
                additions = geo.compile_additions(self.roles, level)
                return Plans(additions, load_or_compile(text, lowered.devices, name, more))
            return Plans(
                compiling.compile_server(text, name, cut, self.roles["programs"], level, devices),
                compiling.compile_worker(text, lowered.devices, name, more, is_whole=is_worker_alone),
            )

        key = (strategy.mode, lowered.devices, *cut, *more)
        plans = compile_for_all(role, text, key, name, compile_here)
        self.plan = plans.worker
        tables = lowered.tables.tables if lowered.tables else ()
        updates = {table: updates_of(table, agreed_level()) for table in tables}
        self.job = Job(self.roles, strategy, servers, workers, plans.servers, updates)

    @staticmethod
    def _worker_alone(lowered: ServedLowered) -> Any:
        assert lowered.tables is not None
        arguments = [*lowered.arguments, *lowered.tables.arguments]
        kinds = [argument.role for argument in arguments] + ["constant"] * len(lowered.program.hidden)
        results = [*lowered.results, *lowered.tables.results]
        reported = sum(len(report.kinds) for report in lowered.program.reports)
        return compiling.worker_alone(kinds, len(results) + reported)


class ServedStep(Compiled):
    """A worker's part of a step: called as the step itself.

    What servers hold of its states comes as an `epl.Array` that is fetched when somebody reads it. The first
    call's arguments are the first values: those of worker 0.
    """

    def __init__(self, lowered: ServedLowered, served: Served) -> None:
        """A step of such servers."""
        self._job, self._roles, self._role = served.job, served.roles, served.role
        self._rows = Rows(lowered, lowered.tables) if lowered.tables else None
        first = len(lowered.arguments) + (self._rows.count if self._rows else 0)
        self._is_compensated = lowered.strategy.mode == "dc_asgd"
        worker = self._roles["worker"]
        numbers = [argument["argument"] for argument in worker["arguments"]]
        Executable.__init__(
            self,
            served.plan,
            lowered.devices,
            lowered.signature.name,
            [lowered.program.hidden[number - first] for number in numbers if number >= first],
            [self._kind(lowered, result) for result in worker["results"] if result["kind"] != "push"],
            max_threads=lowered.max_threads,
        )
        self.lowered = lowered
        self._reports = tuple(lowered.program.reports)
        self._first_hidden = first
        self._taken = [number for number in numbers if number < first]
        held = served.job.held
        self._pulled = {
            slot: (held[number].parameter, held[number].state)
            for slot, number in enumerate(self._taken)
            if number in held
        }

    @staticmethod
    def _kind(lowered: ServedLowered, result: Any) -> Any:
        """Of a result of the worker's plan that is not pushed."""
        tables = lowered.tables
        gradients = [tables.lookups[i].kind for i in tables.pushed] if tables else []
        reported = [kind for report in lowered.program.reports for kind in report.kinds]
        return [*lowered.out_leaves, *gradients, *reported][result["result"]]

    @cached_property
    def _shown(self) -> list[int]:
        """The results that are no reports', in the order of the plan."""
        slots = [slot for slot in self.plan.slots if slot.role == "result"]
        return [number for number, slot in enumerate(slots) if not slot.hidden]

    def _report(self, leaves: list[Any], results: list[Any], prints: bool) -> list[Any]:
        """As the base class, which has what is reported behind all else."""
        hidden = [number for number in range(len(results)) if number not in self._shown]
        return super()._report(leaves, [results[number] for number in (*self._shown, *hidden)], prints)

    def _results(self, leaves: list[Any], *, donate: bool | None, **options: bool) -> list[Any]:
        ids = self._rows.ids(leaves) if self._rows else []
        first = functools.partial(self._first, leaves)
        connection = connect(self._job, self._role, lambda: self._job.first_values(first))
        self._check_served(leaves, connection)
        if self._rows:
            leaves = [*leaves, *connection.pull_rows(self._rows.requests(ids))]
        arguments = [leaves[number] for number in self._taken if number not in self._job.held]
        donates = self.lowered.donate if donate is None else donate
        if self._wants_others:
            connection.pull()
        try:
            with connection.exchanging(self.plan, self._pulled, self._pushed) as outside:
                try:
                    found = self.run(arguments, donate=donates, outside=outside, **options)
                except StepError as error:
                    self._push_rows(error.results, ids, connection)
                    raise
                self._push_rows(found, ids, connection)
        except StepError as error:
            error.results = self.lowered.out_tree.unflatten(self._returned_of(error.results, connection))
            raise
        return self._returned_of(found, connection)

    @cached_property
    def _pushed(self) -> dict[int, list[tuple[int, int]]]:
        """Who gets what the plan pushes, by slot."""
        slots = [number for number, slot in enumerate(self.plan.slots) if slot.role == "pushed"]
        pushed: dict[int, list[tuple[int, int]]] = {slot: [] for slot in slots}
        for parameter, group in enumerate(self._roles["groups"]):
            for index, each in enumerate(pushes_of(group)):
                pushed[slots[each["push"]]].append((parameter, index))
        return pushed

    @cached_property
    def _wants_others(self) -> bool:
        """Whether servers compensate a gradient by a parameter that its worker's plan does not read."""
        parameters = {(number, PARAMETER) for number in range(len(self._roles["groups"]))}
        return self._is_compensated and not parameters <= set(self._pulled.values())

    def _first(self, leaves: list[Any], number: int) -> np.ndarray[Any, Any]:
        """The first value of an argument of the step."""
        if number >= self._first_hidden:
            return to_host(self.lowered.program.hidden[number - self._first_hidden])
        return to_host(leaves[number])

    def _check_served(self, leaves: list[Any], connection: Connection) -> None:
        """Raises ArgumentError if a later call is given other values than the step before has returned."""
        for number in (*self._job.held, *self._job.copied):
            if number >= self._first_hidden:
                continue
            leaf, name = leaves[number], self.lowered.arguments[number].name
            buffer = leaf.buffer if isinstance(leaf, Array) else None
            if isinstance(buffer, ServedBuffer):
                if buffer.is_donated:
                    buffer.numpy()  # raises
            elif connection.has_begun and (buffer is None or number in self._job.held):
                raise ArgumentError(
                    f'"{name}" is held by servers from the first call of {self.name} on: pass what the step '
                    f"before has returned, found {type(leaf).__name__}"
                )

    def _found(self, values: list[Any]) -> dict[int, Any]:
        """What the plan has given, by the step's results: behind those, gradients of lookups."""
        results = [self._roles["worker"]["results"][number] for number in self._shown]
        return {result["result"]: value for result, value in zip(results, values, strict=True)}

    def _push_rows(self, values: list[Any], ids: list[Ids], connection: Connection) -> None:
        if self._rows:
            found, count = self._found(values), len(self.lowered.out_leaves)
            gradients = [found[number] for number in sorted(found) if number >= count]
            connection.push_rows(self._rows.pushes(ids, gradients))

    def _returned_of(self, values: list[Any], connection: Connection) -> list[Any]:
        """The leaves that the step returns."""
        returned = self._found(values)
        for number, update in enumerate(self.lowered.results):
            if number not in returned:
                returned[number] = self._served(update, number, connection)
        return [returned[number] for number in range(len(self.lowered.out_leaves))]

    def _served(self, update: Any, number: int, connection: Connection) -> Array:
        """A state that servers hold, as this step has left it."""
        argument = update.updates
        kind = self.lowered.out_leaves[number]
        name = self.lowered.arguments[argument].name
        shape, dtype = tuple(kind.shape), np.dtype(kind.dtype)
        buffer = ServedBuffer(connection, self._job.held[argument], name, connection.step, shape, dtype)
        return Array(buffer, dtype, shape)

    def check(self, *args: Any, rtol: float = 1e-5, atol: float = 1e-6, **kwargs: Any) -> CheckReport:
        """As the base class.

        Raises:
          UnsupportedError: for a step with tables, whose rows no reference has.
        """
        if self._rows:
            raise UnsupportedError(f"check of {self.name}: its tables have no reference yet")
        return super().check(*args, rtol=rtol, atol=atol, **kwargs)

    def new_state(self, index: int) -> tuple[Any, list[Any]]:
        """As the base class; what servers hold is in memory of this process until the first call."""
        if index not in self._job.held:
            state: tuple[Any, list[Any]] = self._session.new_state(self._taken.index(index))
            return state
        leaf = self.lowered.spec.leaves[index]
        return FetchedBuffer.new(tuple(leaf.shape), signless_dtype(leaf.dtype))

    def state_shape(self, index: int) -> tuple[int, ...]:
        """As the base class."""
        if index not in self._job.held:
            return tuple(self.plan.slots[self._taken.index(index)].shape)
        return tuple(self.lowered.spec.leaves[index].shape)
