"""Embeddings of a program that are tables on parameter servers, and what the program does with their rows.

Problem: a program has an embedding as one persistable variable, and its gradient as another one of that
size; a trainer that is served has neither. Method: what the ops on the variable and its gradient are for
is read off the program, and these ops are taken out of a trainer's run:

    ops                                         | where
    --------------------------------------------+----------------------------------------------------------
    lookups                                     | in the step, of rows that servers give (`epl.Table`)
    gradients of lookups                        | in the step: those of the rows, which servers get
    sums of these                               | servers add up all gradients of an id
    all that reads the sum, the variable, or    | servers, for one row at a time (row_updates.py)
    what an optimizer keeps for it              |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from epl.errors import ArgumentError, UnsupportedError
from epl.paddle.description import Op, Variable
from epl.paddle.operators.gradients import GRAD, OF
from epl.paddle.program import Program

LOOKUPS = ("lookup_table", "lookup_table_v2")
"""The ops that give rows of an embedding; the first one has ids in a last dimension of one element."""

_GRADIENTS = tuple(f"{kind}{OF}" for kind in LOOKUPS)
_BY_ROW = {
    "adadelta", "adagrad", "adam", "adamax", "adamw", "cast", "clip", "decayed_adagrad", "elementwise_add",
    "elementwise_div", "elementwise_max", "elementwise_min", "elementwise_mul", "elementwise_sub", "ftrl",
    "momentum", "rmsprop", "scale", "sgd", "sign", "square", "sum",
}  # fmt: skip
"""Ops that make each row of one row each of what they read."""
_RATE = "LearningRate"


@dataclass(frozen=True)
class TableUpdate:
    """How a program updates a table.

    ops: on rows and what follows from constants, with their numbers, in their order. gradient: the name of
    that of the table. states: what they keep from run to run. constants: persistable variables that they read
    and nobody writes. rate: the learning rate that the program computes in each run, with which trainers
    multiply gradients, so that the update does not; None if it is a constant.
    """

    ops: tuple[tuple[int, Op], ...]
    gradient: str
    states: tuple[Variable, ...]
    constants: tuple[str, ...]
    rate: str | None


@dataclass(frozen=True)
class ProgramTable:
    """An embedding of a program as a table.

    lookups, gradients: the ops by number; each gradient is that of the lookup in the same place. taken: the
    numbers of all other ops that a trainer does not run. padding: the id that has no row, None if none.
    """

    variable: Variable
    lookups: Mapping[int, Op]
    gradients: Mapping[int, Op]
    taken: frozenset[int]
    padding: int | None
    update: TableUpdate | None

    @property
    def name(self) -> str:
        """Of the variable."""
        return self.variable.name

    @property
    def kept(self) -> frozenset[str]:
        """The variables that servers have for each row: the table and what its optimizer keeps."""
        return frozenset((self.name, *(state.name for state in self.states)))

    @property
    def states(self) -> tuple[Variable, ...]:
        """What the optimizer keeps: as much as the table has, or numbers, which each row has for itself."""
        return self.update.states if self.update else ()


@dataclass(frozen=True)
class ProgramTables:
    """The tables of a program.

    Args:
      program: that has them.
      tables: in the order of their first lookups.
    """

    program: Program
    tables: tuple[ProgramTable, ...]

    @cached_property
    def taken(self) -> frozenset[int]:
        """The numbers of ops that a trainer does not run."""
        return frozenset().union(*(table.taken for table in self.tables))

    @cached_property
    def kept(self) -> frozenset[str]:
        """The variables that servers have for each row."""
        return frozenset().union(*(table.kept for table in self.tables))

    @cached_property
    def needed(self) -> frozenset[str]:
        """The persistable variables that a trainer has: those that ops which it runs read."""
        run = (op for number, op in enumerate(self.program.ops) if number not in self.taken)
        looked_up = frozenset(table.name for table in self.tables)
        return (
            frozenset(name for op in run for name in op.reads if name in self.program.parameters) - looked_up
        )


def names_of(program: Program, attributes: Iterable[str]) -> list[str]:
    """The embeddings of a program with a lookup that has one of these attributes set."""
    wanted = tuple(attributes)
    return list(
        dict.fromkeys(
            op.inputs["W"][0]
            for op in program.ops
            if op.kind in LOOKUPS and any(op.attributes.get(attribute) for attribute in wanted)
        )
    )


def read_tables(program: Program, names: Sequence[str]) -> ProgramTables:
    """What a program does with embeddings that are tables.

    Raises:
      ArgumentError: for one that the program trains otherwise, but does not update.
      UnsupportedError: at the op, for what is done with an embedding, or its gradient, and not by rows.
    """
    return ProgramTables(program, tuple(_Reader(program, name).read() for name in names))


def left_out(program: Program, names: frozenset[str]) -> ProgramTables:
    """A program that does not make some variables, as it would without their ops."""
    made = [
        ProgramTable(
            program.variables[name],
            {},
            {},
            frozenset(number for number, op in enumerate(program.ops) if tuple(op.writes) == (name,)),
            None,
            None,
        )
        for name in sorted(names & program.variables.keys())
    ]
    return ProgramTables(program, tuple(made))


@dataclass
class _Reader:
    """Reads what is done with one embedding.

    derived: the variables that have its rows, or are kept for it. gradients_of: its gradients, by name.
    """

    program: Program
    name: str
    derived: set[str] = field(default_factory=set)
    gradients_of: set[str] = field(default_factory=set)

    def read(self) -> ProgramTable:
        variable = self.program.variables[self.name]
        ops = list(enumerate(self.program.ops))
        lookups = {number: op for number, op in ops if op.kind in LOOKUPS and op.inputs["W"] == (self.name,)}
        padding = self._padding(list(lookups.values()))
        found = {n: op for n, op in ops if op.kind in _GRADIENTS and op.inputs["W"] == (self.name,)}
        self.gradients_of = {name for op in found.values() for name in op.writes}
        sums = self._sums(ops)
        updates = self._updates([(n, op) for n, op in ops if n not in {*lookups, *found, *sums}])
        if not self.program.trains:
            if updates:
                raise self._unsupported(updates[0][1], "which is no lookup")
            return ProgramTable(variable, lookups, {}, frozenset(), padding, None)
        gradients = self._paired(lookups, found)
        update = self._update(updates)
        taken = frozenset((*sums, *(number for number, _ in updates)))
        return ProgramTable(variable, lookups, gradients, taken, padding, update)

    def _padding(self, lookups: Sequence[Op]) -> int | None:
        """The id that has no row, one for all lookups."""
        first, *others = (int(op.attributes.get("padding_idx", -1)) for op in lookups)
        for op, own in zip(lookups[1:], others, strict=True):
            if own != first:
                raise UnsupportedError(
                    f'{op} looks up table "{self.name}" with padding_idx {own}, and {lookups[0]} with '
                    f"{first}: expected the same one, -1 for none"
                )
        return None if first == -1 else first

    def _sums(self, ops: Iterable[tuple[int, Op]]) -> list[int]:
        """The ops that add up gradients of lookups, whose sums are such gradients, too."""
        found = []
        for number, op in ops:
            if op.kind == "sum" and self.gradients_of.issuperset(op.reads):
                self.gradients_of.update(op.writes)
                found.append(number)
        return found

    def _updates(self, ops: Sequence[tuple[int, Op]]) -> list[tuple[int, Op]]:
        """The ops that read the table, its gradient, what follows from these, or what is kept for them."""
        self.derived = {self.name}
        while True:
            known = self.derived | self.gradients_of
            found = [(number, op) for number, op in ops if not known.isdisjoint((*op.reads, *op.writes))]
            for _, op in found:
                if op.kind not in _BY_ROW:
                    raise self._unsupported(op, "which is not by rows")
            of_ops = {name for _, op in found for name in op.writes} | self._kept(op for _, op in found)
            if of_ops <= self.derived:
                return found
            self.derived |= of_ops

    def _kept(self, ops: Iterable[Op]) -> set[str]:
        """The persistable variables that ops read, and the program changes; but learning rates."""
        return {
            name
            for op in ops
            for kind, names in op.inputs.items()
            for name in names
            if kind != _RATE and name in self.program.parameters and name in self.program.updated
        }

    def _unsupported(self, op: Op, why: str) -> UnsupportedError:
        return UnsupportedError(
            f'{op} reads or writes table "{self.name}", its gradient, or what its optimizer keeps, {why}: '
            "servers update each row by itself, so a table is looked up, and updated by one of "
            f"{', '.join(sorted(_BY_ROW))}; without is_distributed it is a parameter"
        )

    def _paired(self, lookups: Mapping[int, Op], found: Mapping[int, Op]) -> dict[int, Op]:
        """The gradient of each lookup."""
        paired: dict[int, Op] = {}
        for op in lookups.values():
            (out,) = op.outputs["Out"]
            own = next((n for n, each in found.items() if each.inputs[f"Out{GRAD}"][0] == out + GRAD), None)
            if own is None:
                raise UnsupportedError(
                    f'{op} looks up table "{self.name}" and gives its rows no gradient: a table that is '
                    "trained has one for each lookup; without is_distributed it is a parameter"
                )
            paired[own] = found[own]
        return paired

    def _update(self, updates: Sequence[tuple[int, Op]]) -> TableUpdate:
        read = list(dict.fromkeys(n for _, op in updates for n in op.reads if n in self.gradients_of))
        steps = [op for _, op in updates if op.inputs.get("Param") == (self.name,)]
        if len(steps) != 1 or len(read) != 1:
            raise ArgumentError(
                f'table "{self.name}" is updated by {len(steps)} optimizers, expected one: is it trainable, '
                "and was minimize called once?"
            )
        constants: dict[str, None] = {}
        before: dict[int, Op] = {}
        rate = None
        for _, op in updates:
            for kind, names in op.inputs.items():
                for name in names:
                    if name in self.derived or name in self.gradients_of:
                        continue
                    if not self._follows(name, constants, before):
                        rate = self._computed(name, kind, op, updates)
        states = sorted((self.derived - {self.name}) & self.program.parameters.keys())
        return TableUpdate(
            tuple(sorted((*before.items(), *updates), key=lambda pair: pair[0])),
            read[0],
            tuple(self._state(name, steps[0]) for name in states),
            tuple(constants),
            rate,
        )

    def _state(self, name: str, op: Op) -> Variable:
        state, shape = self.program.variables[name], self.program.variables[self.name].shape
        if state.shape != shape and math.prod(state.shape) != 1:
            raise UnsupportedError(
                f'{op} keeps "{name}" of shape {list(state.shape)} for table "{self.name}" of {list(shape)}: '
                "servers keep something of each row, expected that shape or one number"
            )
        return state

    def _follows(self, name: str, constants: dict[str, None], before: dict[int, Op]) -> bool:
        """Whether a value is the same in each run; notes the variables and the ops that it is made of."""
        if name in self.program.parameters:
            if name in self.program.updated:
                return False
            constants[name] = None
            return True
        made = [(number, op) for number, op in enumerate(self.program.ops) if name in op.writes]
        if len(made) != 1 or not all(self._follows(each, constants, before) for each in made[0][1].reads):
            return False
        before.update(made)
        return True

    def _computed(self, name: str, kind: str, op: Op, updates: Sequence[tuple[int, Op]]) -> str:
        """The name of a value that is another one in each run, if it is the rate of a plain step."""
        if kind == _RATE and op.kind == "sgd" and len(updates) == 1:
            return name
        raise UnsupportedError(
            f'{op} updates table "{self.name}" by "{name}", which the program computes in each run: servers '
            "update rows by constants; a learning rate that changes is for SGD without regularization"
        )
