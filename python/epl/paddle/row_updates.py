"""Tables of programs as `epl.Table`: the ops that update one as the optimizer of a row, rows in a step."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import Place
from epl.paddle.description import Op
from epl.paddle.program import Program
from epl.paddle.running import Run, at_op
from epl.paddle.tables import LOOKUPS, ProgramTable, ProgramTables, TableUpdate
from epl.tables.table import Table

Arrays = Mapping[str, np.ndarray[Any, Any]]


class RowUpdate:
    """The optimizer of a table: a program's ops on a table of one row.

    Args:
      table: of the program, which trains it.
      firsts: the number with which each state begins.
      constants: the values of variables that nobody writes.
    """

    def __init__(self, table: ProgramTable, firsts: Mapping[str, float], constants: Arrays) -> None:
        assert table.update is not None
        self._update: TableUpdate = table.update
        self._table = table.name
        self._of_rows = {each.name for each in table.states if each.shape == table.variable.shape}
        self._states = {
            each.name: np.full(
                each.shape[1:] if each.name in self._of_rows else each.shape, firsts[each.name], each.dtype
            )
            for each in table.states
        }
        self._constants = dict(constants)
        if self._update.rate is not None:  # trainers have multiplied the gradient by it
            self._constants[self._update.rate] = np.ones((1,), table.variable.dtype)

    @property
    def place(self) -> Place | None:
        """The user's line that updates the table."""
        return self._update.ops[-1][1].place

    def init(self, row: Any) -> dict[str, np.ndarray[Any, Any]]:  # noqa: ARG002  (as optax has it)
        """What is kept of a row that was never updated."""
        return dict(self._states)

    def update(self, gradient: Any, state: Mapping[str, Any], row: Any) -> tuple[Any, dict[str, Any]]:
        """What is added to the row, and what is kept of it then."""
        new, kept = self.updated(gradient, state, row)
        return new - row, kept

    def updated(self, gradient: Any, state: Mapping[str, Any], row: Any) -> tuple[Any, dict[str, Any]]:
        """The row, and what is kept of it, behind an update."""
        of_rows = self._of_rows
        run = Run(
            {
                **self._constants,
                **{name: value[None] if name in of_rows else value for name, value in state.items()},
                self._table: row[None],
                self._update.gradient: gradient[None],
            }
        )
        for number, op in self._update.ops:
            run.do(number, op)
        kept = {name: run.values[name][0] if name in of_rows else run.values[name] for name in state}
        return run.values[self._table][0], kept


@dataclass(frozen=True)
class GivenTables:
    """The tables of a program, and what a step is given for them, by name."""

    of: ProgramTables
    tables: Mapping[str, Table]

    @classmethod
    def none(cls, program: Program) -> GivenTables:
        """Those of a program without tables."""
        return cls(ProgramTables(program, ()), {})

    @property
    def hidden(self) -> frozenset[str]:
        """The variables that servers have for each row."""
        return self.of.kept

    @property
    def needed(self) -> frozenset[str]:
        """The persistable variables that the step has."""
        return self.of.needed


@dataclass
class RowsOfRun:
    """The tables of a program in one trace of its step. tables: by name, as the step is given them."""

    of: ProgramTables
    tables: Mapping[str, Table]
    _gradients: dict[str, dict[str, Any]] = field(default_factory=dict)

    def do(self, run: Run, number: int, op: Op) -> bool:
        """Does an op that is one of a table; whether it is."""
        if number in self.of.taken:
            return True
        for table in self.of.tables:
            if number in table.lookups:
                (out,) = op.outputs["Out"]
                run.values[out] = at_op(op, functools.partial(self._rows, table.name, op, run))
                return True
            if number in table.gradients:
                own = self._gradients.setdefault(table.name, {})
                own[op.inputs["Out@GRAD"][0]] = at_op(op, functools.partial(self._gradient, table, op, run))
                return True
        return False

    def _rows(self, name: str, op: Op, run: Run) -> Any:
        ids = run.values[op.inputs["Ids"][0]]
        return self.tables[name].lookup(ids.squeeze(-1) if op.kind == LOOKUPS[0] else ids)

    @staticmethod
    def _gradient(table: ProgramTable, op: Op, run: Run) -> Any:
        """That of the rows of a lookup."""
        gradient = run.values[op.inputs["Out@GRAD"][0]]
        rate = table.update.rate if table.update else None
        return gradient if rate is None else gradient * run.values[rate].reshape(())

    def updated(self) -> dict[str, Table]:
        """The tables behind the step."""
        return {table.name: self._updated(table) for table in self.of.tables if table.name in self.tables}

    def _updated(self, table: ProgramTable) -> Table:
        given = self.tables[table.name]
        rows, structure = jax.tree.flatten(given)
        own = [self._gradients[table.name][f"{op.outputs['Out'][0]}@GRAD"] for op in table.lookups.values()]
        # In the trace that finds lookups a table has no rows yet.
        gradients = (
            [jnp.asarray(each, row.dtype) for each, row in zip(own, rows, strict=True)] if rows else []
        )
        return given.update(jax.tree.unflatten(structure, gradients))
