"""A step whose parameters servers hold, as a worker runs it.

The compiler deals a lowered step out:

    who has what (job.py)  ->  blocks on servers, and the plans that update them
    the worker's plan      ->  each call: pulls parameters and pushes gradients while it runs
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from epl import runtime
from epl.array import Array
from epl.calling import in_memory, signless_dtype, to_host
from epl.comparison import Rehearsed, RowSums, gradient_of
from epl.compile import load_or_compile
from epl.errors import ArgumentError, StepError
from epl.executable import Executable, PathLike, user_path
from epl.processes.gathering import gather, numbers_of
from epl.servers import compiling, geo
from epl.servers.buffers import FetchedBuffer, ServedBuffer, array_of
from epl.servers.connection import Connection, connect, current
from epl.servers.evaluation import EvaluationStep
from epl.servers.job import PARAMETER, pushes_of
from epl.servers.rehearsal import Rehearsal, new_rows
from epl.servers.rows import Rows
from epl.servers.served import Served, parts_beside
from epl.servers.strategy import ParameterServer
from epl.stages import Compiled, Lowered
from epl.tables.ids import Ids
from epl.tables.steps import StepTables


@dataclass(frozen=True)
class _Fetched:
    """What a step reads.

    leaves: its arguments, of which those that servers hold were fetched. values: what servers hold, by places
    as in `Job.sources`. ids, rows: of its lookups.
    """

    leaves: list[Any]
    values: dict[tuple[int, int], Any]
    ids: list[Ids]
    rows: Sequence[Any]


@dataclass(frozen=True)
class ServedLowered(Lowered):
    """A lowered step that is trained with servers.

    In its program the rows of `tables` stand behind the arguments, and their gradients behind the results.
    """

    strategy: ParameterServer = field(default_factory=ParameterServer)
    tables: StepTables | None = None

    @property
    def is_repeatable(self) -> bool:
        """Never: servers have updated what they hold."""
        return False

    @property
    def kinds(self) -> list[Any]:
        """As the base class: the gradients of lookups, too."""
        return [*self.out_leaves, *self.gradients]

    @property
    def gradients(self) -> list[Any]:
        """Shapes and dtypes of the gradients of lookups."""
        return [self.tables.lookups[i].kind for i in self.tables.pushed] if self.tables else []

    @property
    def compared(self) -> list[str]:
        """As the base class: the gradients of tables, too."""
        return [*super().compared, *map(gradient_of, sorted(self.tables.trained if self.tables else ()))]

    @property
    def has_states(self) -> bool:
        """Whether the step has a state beside tables."""
        return any(argument.role == "state" for argument in self.arguments)

    def _compile(self, *, reference: bool) -> Compiled:
        if reference:
            return super()._compile(reference=True)
        if self.tables is not None and not self.tables.trained and not (self.has_states and self._groups()):
            options = (*self.options, *self.precision.options)
            plan = load_or_compile(self.program.text, self.devices, self.signature.name, options)
            return EvaluationStep(plan, self, self.tables)
        return self._of(Served.compiled(self, self.strategy, self.tables))

    def loaded(self, plan: Any, path: Path) -> Compiled:
        """As the base class."""
        parts = parts_beside(path, plan, self, self.strategy, self.tables)
        if parts.kind == "evaluation":
            assert self.tables is not None, "the step is the one that was saved"
            return EvaluationStep(plan, self, self.tables)
        return self._of(Served.loaded(parts, plan, self.strategy, self.tables))

    def _of(self, served: Served) -> Compiled:
        if self.strategy.mode == "geo":
            return geo.GeoStep(self, served, is_checked=self.strategy.check_finite)
        return ServedStep(self, served)

    def _groups(self) -> Any:
        """The parameters that servers would hold, with what is updated with each."""
        more = (*self.options, *self.precision.options)
        cut = compiling.options_of(self.strategy, 1, has_tables=True)
        roles = compiling.describe(self.program.text, self.devices, self.signature.name, cut, more)
        return roles["groups"]


class ServedStep(Compiled):
    """A worker's part of a step: called as the step itself.

    What servers hold of its states comes as an `epl.Array` that is fetched when somebody reads it. The first
    call's arguments are the first values: those of worker 0.
    """

    def __init__(self, lowered: ServedLowered, served: Served) -> None:
        """A step of such servers."""
        self._served = served
        self._job, self._roles, self._role = served.job, served.roles, served.role
        self._rows = Rows(lowered, lowered.tables) if lowered.tables else None
        first = len(lowered.arguments) + (self._rows.count if self._rows else 0)
        self._is_compensated = lowered.strategy.mode == "dc_asgd"
        self._is_checked = lowered.strategy.check_finite
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
        reported = [kind for report in lowered.program.reports for kind in report.kinds]
        return [*lowered.kinds, *reported][result["result"]]

    def save(self, path: PathLike) -> None:
        """As the base class."""
        super().save(path)
        self._served.save(user_path(path), self.lowered, "worker")

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
        donates = self.lowered.donate if donate is None else donate
        if self._wants_others:
            connection.pull()
        try:
            with connection.exchanging(
                self.plan, self._pulled, self._pushed, keeps=self._is_checked
            ) as outside:
                arguments = self._own([*leaves, *self._rows_of(ids, connection, outside)])
                failure = None
                try:
                    used = outside if self._exchanges else None
                    found = self.run(arguments, donate=donates, outside=used, **options)
                except StepError as error:
                    found, failure = error.results, error
                self._push_rows(found, ids, connection, outside)
            if failure is not None:
                raise failure
        except StepError as error:
            error.results = self.lowered.out_tree.unflatten(self._returned_of(error.results, connection))
            raise
        return self._returned_of(found, connection)

    def _rows_of(self, ids: list[Ids], connection: Connection, outside: Any) -> Sequence[Any]:
        """The rows of lookups. What the plan pulls is sent behind them, while the first ones are awaited."""
        if not self._rows:
            return ()
        begins = functools.partial(self._session.expect, outside) if self._pulled else None
        return connection.pull_rows(self._rows.requests(ids), begins)

    @cached_property
    def _pushed(self) -> dict[int, list[tuple[int, int]]]:
        """Who gets what the plan pushes, by slot."""
        slots = [number for number, slot in enumerate(self.plan.slots) if slot.role == "pushed"]
        pushed: dict[int, list[tuple[int, int]]] = {slot: [] for slot in slots}
        for parameter, group in enumerate(self._roles["groups"]):
            for index, each in enumerate(pushes_of(group)):
                pushed[slots[each["push"]]].append((parameter, index))
        return pushed

    @property
    def _exchanges(self) -> bool:
        """Whether the plan pulls or pushes something."""
        return bool(self._pulled or self._pushed)

    def _own(self, leaves: list[Any]) -> list[Any]:
        """Of the arguments and rows those that the plan is given."""
        return [leaves[number] for number in self._taken if number not in self._job.held]

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
            leaf, name = numbers_of(leaves[number]), self.lowered.arguments[number].name
            buffer = leaf.buffer if isinstance(leaf, Array) else None
            if isinstance(buffer, ServedBuffer):
                if buffer.is_donated:
                    buffer.numpy()  # raises
            elif connection.has_begun and (buffer is None or number in self._job.held):
                raise ArgumentError(
                    f'"{name}" is held by servers from the first call of {self.name} on: pass what the step '
                    f"before has returned, found {type(leaves[number]).__name__}"
                )

    def _found(self, values: list[Any]) -> dict[int, Any]:
        """What the plan has given, by the step's results: behind those, gradients of lookups."""
        results = [self._roles["worker"]["results"][number] for number in self._shown]
        return {result["result"]: value for result, value in zip(results, values, strict=True)}

    def _gradients(self, found: dict[int, Any]) -> list[Any]:
        """Those of lookups."""
        return [found[number] for number in sorted(found) if number >= len(self.lowered.out_leaves)]

    def _push_rows(self, values: list[Any], ids: list[Ids], connection: Connection, outside: Any) -> None:
        """Pushes gradients of tables, if these and what `outside` has are as the strategy wants them."""
        rows = self._rows.pushes(ids, self._gradients(self._found(values))) if self._rows else []
        if self._is_checked:
            try:
                connection.check_finite(outside, rows)
            except StepError as error:
                error.results = values
                raise
        if self._rows:
            connection.push_rows(rows)

    def _returned_of(self, values: list[Any], connection: Connection) -> list[Any]:
        """The leaves that the step returns."""

        def left(argument: int, number: int) -> Any:
            return self._left(argument, number, connection)

        return self._completed(self._found(values), left)

    def _completed(self, found: dict[int, Any], served: Callable[[int, int], Any]) -> list[Any]:
        """The same; `served` gives states that servers hold, by the numbers of argument and result."""
        leaves = []
        for number, result in enumerate(self.lowered.results):
            if number not in found:
                assert result.updates is not None, "what a worker has not is a state"
                found[number] = served(result.updates, number)
            leaves.append(found[number])
        return leaves

    def _left(self, argument: int, number: int, connection: Connection) -> Any:
        """A state that servers hold, as this step has left it."""
        kind = self.lowered.out_leaves[number]
        name, numbers = self.lowered.arguments[argument].name, in_memory(kind)
        shape, dtype = tuple(numbers.shape), np.dtype(numbers.dtype)
        buffer = ServedBuffer(connection, self._job.held[argument], name, connection.step, shape, dtype)
        return array_of(buffer, kind)

    def rehearse(self, leaves: list[Any]) -> Rehearsed:
        """As the base class, with updates of this worker alone."""
        return self._try(self._fetched(leaves))

    def _run_both(self, leaves: list[Any]) -> tuple[Any, Any]:
        """As the base class. Both have the values and the rows that servers have now."""
        fetched = self._fetched(leaves)
        found = self._reference.run([*gather(fetched.leaves), *fetched.rows], donate=False, prints=False)
        count = len(self.lowered.out_leaves)
        expected = Rehearsed(found[:count], self._sums(fetched.ids, found[count:]))
        return self._try(fetched).compared, expected.compared

    def _fetched(self, leaves: list[Any]) -> _Fetched:
        """What a step on these arguments reads; before the first call what it would begin with."""
        first = functools.partial(self._first, leaves)
        connection = connect(self._job, self._role, dict) if current() else None
        if connection is None:
            values: dict[tuple[int, int], Any] = self._job.first_values(first)
        else:
            self._check_served(leaves, connection)
            places = list(self._job.sources)
            values = dict(zip(places, connection.fetch(places), strict=True)) if places else {}
        ids = self._rows.ids(leaves) if self._rows else []
        rows: Sequence[Any] = ()
        if self._rows:
            requests = self._rows.requests(ids, trains=False)
            updates = self._served.updates
            rows = new_rows(updates, requests) if connection is None else connection.pull_rows(requests)
        whole = list(leaves)
        for number, held in self._job.held.items():
            if number < len(whole):
                kind = in_memory(self.lowered.spec.leaves[number])
                whole[number] = values[held.parameter, held.state].view(np.dtype(kind.dtype))
        return _Fetched(whole, values, ids, rows)

    @cached_property
    def _updates(self) -> Rehearsal:
        return Rehearsal(self._roles, self._served.programs)

    def _try(self, fetched: _Fetched) -> Rehearsed:
        """The worker's plan, and the updates by what it pushes."""
        pulled = {slot: fetched.values[place] for slot, place in self._pulled.items()}
        outside = runtime.module().OutsideTensors(self.plan, pulled)
        used = outside if self._exchanges else None
        arguments = self._own([*fetched.leaves, *fetched.rows])
        try:
            found = self._found(self.run(arguments, donate=False, prints=False, outside=used))
        except StepError as error:
            error.results = self._tried(self._found(error.results), fetched, outside)
            raise
        return Rehearsed(
            self._tried(found, fetched, outside), self._sums(fetched.ids, self._gradients(found))
        )

    def _tried(self, found: dict[int, Any], fetched: _Fetched, outside: Any) -> Any:
        """What the step would return."""
        pushed = [outside.pushed[slot] for slot in self._pushed]
        new = self._updates.updated(fetched.values, pushed)

        def served(argument: int, number: int) -> Any:
            held = self._job.held[argument]
            return array_of(FetchedBuffer(new[held.parameter, held.state]), self.lowered.out_leaves[number])

        return self.lowered.out_tree.unflatten(self._completed(found, served))

    def _sums(self, ids: list[Ids], gradients: list[Any]) -> dict[str, RowSums]:
        return self._rows.sums(ids, gradients) if self._rows else {}

    @property
    def holds_states(self) -> bool:
        """As the base class: servers do."""
        return False

    def new_state(self, index: int) -> tuple[Any, list[Any]]:
        """As the base class; what servers hold is in memory of this process until the first call."""
        if index not in self._job.held:
            state: tuple[Any, list[Any]] = self._session.new_state(self._taken.index(index))
            return state
        kind = in_memory(self.lowered.spec.leaves[index])
        return FetchedBuffer.new(tuple(kind.shape), signless_dtype(kind.dtype))

    def state_shape(self, index: int) -> tuple[int, ...]:
        """As the base class."""
        if index not in self._job.held:
            return tuple(self.plan.slots[self._taken.index(index)].shape)
        return tuple(in_memory(self.lowered.spec.leaves[index]).shape)
