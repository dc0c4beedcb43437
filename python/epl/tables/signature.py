"""A step that looks up tables, as a step of arrays: rows are further arguments, their gradients results.

    (params, user, ids, y)  ->  (params', user', loss)                      the user's
    (params, ids, y; rows)  ->  (params', user', loss; gradients of rows)   what is compiled

So there are no ids inside, and no index is computed: rows come one for each occurrence of an id, and are
split along the batch as batches are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from epl.adapters.jax import trace as adapter
from epl.errors import StateError
from epl.signature import Signature, Spec
from epl.tables.steps import StepTables
from epl.tables.table import Table, is_table
from epl.tables.traces import RowsTrace, active, as_outside, bound_spec

_ROWS = "rows of tables"


class TableSignature(Signature):
    """The parameters of a step and, behind them, the rows of its lookups. Its one spec is `extended`."""

    def __init__(self, signature: Signature, spec: Spec, tables: StepTables) -> None:
        """Of a step, for such arguments; `tables`: what it looks up."""
        vars(self).update(vars(signature))
        self._base = signature
        self._own = spec
        self._tables = tables
        rows = [lookup.kind for lookup in tables.lookups]
        self.extended = replace(
            spec,
            trees=(*spec.trees, (_ROWS, jax.tree.structure(tuple(rows)))),
            kinds=(*spec.kinds, *((row.shape, row.dtype) for row in rows)),
            weak_types=(*spec.weak_types, *(False for _ in rows)),
        )

    def arguments(self, spec: Spec) -> list[adapter.Argument]:  # noqa: ARG002  (there is one)
        """Names and roles of the leaves."""
        rows, kinds = self._tables.arguments, [lookup.kind for lookup in self._tables.lookups]
        return [
            *self._base.arguments(self._own),
            *self._base.arriving(rows, [_ROWS] * len(rows), kinds),
        ]

    def call(self, spec: Spec, leaves: Sequence[Any]) -> Any:  # noqa: ARG002
        """As the base class; gives what the step returns, and the gradients of lookups.

        Raises:
          StateError: if it does not return the tables that it trains, updated.
        """
        trace = RowsTrace(self.name, self._tables.places, self._tables.by_device)
        count = len(self._own.kinds)
        numbers = {
            name: [count + i for i, lookup in enumerate(self._tables.lookups) if lookup.table.name == name]
            for name in (table.name for table in self._tables.tables)
        }
        bound, order = bound_spec(self._own, trace, numbers)
        kinds = tuple(self.extended.kinds[i] for i in order)
        bound = replace(bound, kinds=kinds, weak_types=tuple(self.extended.weak_types[i] for i in order))
        with active(trace):
            out = self._base.call(bound, [leaves[i] for i in order])
        return as_outside(out), self._gradients(out)

    def results(self, spec: Spec, out: Any) -> list[adapter.Result]:  # noqa: ARG002
        """As the base class."""
        return [*self._base.results(self._own, out[0]), *self._tables.results]

    def _gradients(self, out: Any) -> list[Any]:
        """Those in the tables that the step returns."""
        returned: dict[str, Table] = {}
        for table in (leaf for leaf in jax.tree.leaves(out, is_leaf=is_table) if is_table(leaf)):
            self._check_returned(table, returned)
            returned[table.name] = table
        trained = [table.name for table in self._tables.tables if table.name in self._tables.trained]
        for name in trained:
            if name not in returned:
                raise StateError(
                    f'{self.name} must return table "{name}", which is in its state, as table.update(rows), '
                    "where rows are the gradients that jax.grad gives for it"
                )
        return [row for name in trained for row in returned[name].rows]

    def _check_returned(self, table: Table, others: dict[str, Table]) -> None:
        name = table.name
        if name not in self._tables.trained:
            raise StateError(
                f'{self.name} returns table "{name}", which is not in its state: name it in state= of '
                "epl.parallelize, or leave it out where it is only read"
            )
        if name in others:
            raise StateError(f'{self.name} returns table "{name}" twice, expected once')
        if not table.is_updated:
            raise StateError(
                f'{self.name} returns table "{name}" as it was given, expected table.update(rows), where '
                "rows are the gradients that jax.grad gives for it"
            )
