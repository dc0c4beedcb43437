"""The two traces of a step that looks up tables.

The first one finds the lookups: a table has no rows yet, and a primitive stands for each lookup. In the
second one a table's leaves are the rows of its lookups, further arguments of the step: lookup number k of a
table, counted in the order of calls, gives leaf k. A lookup that is in no jaxpr, such as one within
`jax.eval_shape`, has no leaf.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from epl.adapters.jax import lookups
from epl.adapters.jax.looked_up import rows_of
from epl.errors import Error
from epl.signature import Signature, Spec
from epl.tables.table import ACTIVE, LookupTrace, Table, is_table


@contextlib.contextmanager
def active(trace: LookupTrace) -> Iterator[None]:
    """Within, this thread traces a step that looks up its tables so."""
    previous, ACTIVE.trace = ACTIVE.trace, trace
    try:
        yield
    finally:
        ACTIVE.trace = previous


class FindingTrace:
    """The first trace."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def rows(self, table: Table, ids: Any) -> Any:
        """What stands for the rows of the next lookup."""
        number = self._counts[table.name]
        self._counts[table.name] += 1
        return lookups.mark(ids, table.name, number, table.dim, table.dtype)

    def rows_by_device(self, table: Table) -> tuple[bool, ...]:  # noqa: ARG002
        """None: there are no rows."""
        return ()


class RowsTrace:
    """The second trace.

    Args:
      step: its name, for errors.
      places: the leaf of its table that each lookup gives, by table and number.
      by_device: as `Table.rows_by_device`, by table.
    """

    def __init__(
        self,
        step: str,
        places: Mapping[tuple[str, int], int],
        by_device: Mapping[str, tuple[bool, ...]],
    ) -> None:
        self._step = step
        self._places = places
        self._by_device = by_device
        self._counts: Counter[str] = Counter()

    def rows(self, table: Table, ids: Any) -> Any:
        """The rows of the next lookup."""
        number = self._counts[table.name]
        self._counts[table.name] += 1
        place = self._places.get((table.name, number))
        if place is None:  # one that is in no jaxpr, or an error (lookups.check_none)
            return lookups.mark(ids, table.name, number, table.dim, table.dtype)
        rows = table.rows[place]
        if rows.ndim - 1 < ids.ndim or (rows.ndim - 1 == ids.ndim and rows.shape[:-1] != ids.shape):
            raise Error(
                f"{self._step} looks up other ids of table {table.name!r} when it is traced again: "
                f"expected ids of shape {list(rows.shape[:-1])}, found {list(ids.shape)}: a step does the "
                "same whenever it is traced"
            )
        return rows_of(ids, rows)

    def rows_by_device(self, table: Table) -> tuple[bool, ...]:
        """As `Table.rows_by_device`."""
        return self._by_device[table.name]


def as_outside(tree: Any) -> Any:
    """The same tree with its tables as they are outside of steps: without rows."""
    return jax.tree.map(lambda leaf: leaf.bound(None, ()) if is_table(leaf) else leaf, tree, is_leaf=is_table)


def returned(signature: Signature, spec: Spec, leaves: Sequence[Any]) -> Any:
    """What a step returns in the first trace."""
    trace = FindingTrace()
    bound, _ = bound_spec(spec, trace, {})
    with active(trace):
        out = signature.call(bound, leaves)
    return as_outside(out)


def bound_spec(spec: Spec, trace: LookupTrace, rows: Mapping[str, Sequence[int]]) -> tuple[Spec, list[int]]:
    """The arguments of a step whose tables are looked up in a trace.

    Args:
      rows: the numbers of the leaves that a table's lookups give, by table; none where it has no rows yet.

    Returns:
      The arguments, and the number of each of their leaves; those of `spec` count from 0.
    """

    def bind(value: Any) -> Any:
        return value.bound(trace, tuple(rows.get(value.name, ()))) if is_table(value) else value

    trees = {
        name: jax.tree.map(bind, tree, is_leaf=is_table)
        for name, tree in spec.by_parameter(range(len(spec.kinds))).items()
    }
    order = [leaf for tree in trees.values() for leaf in jax.tree.leaves(tree)]
    return replace(spec, trees=tuple((name, jax.tree.structure(tree)) for name, tree in trees.items())), order
