"""Rows of tables in a worker's calls: what is pulled for lookups, and what is pushed for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epl.comparison import RowSums
from epl.servers.connection import RowsPush, RowsRequest
from epl.stages import Lowered
from epl.tables.ids import Ids, IdsOfCalls
from epl.tables.steps import StepTables


class Rows:
    """The lookups of a step; `count`: how many there are."""

    def __init__(self, lowered: Lowered, tables: StepTables) -> None:
        """Errors as of `IdsOfCalls`."""
        self.tables = tables
        self.count = len(tables.lookups)
        self._ids = IdsOfCalls(
            lowered.signature.name, tables, lowered.arguments, lowered.spec.leaves, lowered.program.place
        )

    def ids(self, leaves: Sequence[Any]) -> list[Ids]:
        """Those of a call, by lookup; errors as of `IdsOfCalls`."""
        return self._ids(leaves)

    def requests(self, ids: Sequence[Ids], *, trains: bool = True) -> list[RowsRequest]:
        """What is pulled for them: tables that the step trains get rows for new ids, if it `trains` then."""
        return [
            (
                lookup.table.name,
                own,
                trains and lookup.table.name in self.tables.trained,
                lookup.table.padding,
            )
            for lookup, own in zip(self.tables.lookups, ids, strict=True)
        ]

    def sums(self, ids: Sequence[Ids], gradients: Sequence[Any]) -> dict[str, RowSums]:
        """The gradients of tables that the step trains, as `Rehearsed` has them."""
        return {
            table: _sums_by_id(own, found, padding)
            for table, own, found, padding in self.pushes(ids, gradients)
            if table in self.tables.trained
        }

    def pushes(self, ids: Sequence[Ids], gradients: Sequence[Any]) -> list[RowsPush]:
        """What is pushed, for each table; nothing for those that the step only reads."""
        values = dict(zip(self.tables.pushed, gradients, strict=True))
        pushes = []
        for table in self.tables.tables:
            own = [i for i in values if self.tables.lookups[i].table == table]
            found = [np.asarray(values[i]) for i in own]
            pushes.append((table.name, [ids[i] for i in own], found, table.padding))
        return pushes


def _sums_by_id(ids: Sequence[Ids], gradients: Sequence[Any], padding: int | None) -> RowSums:
    """Of lookups of one table each id once, and the sum of the gradients for it; nothing for padding."""
    flat = np.concatenate([each.reshape(-1) for each in ids]) if ids else np.zeros(0, np.int64)
    rows = [np.asarray(each, np.float64).reshape(-1, each.shape[-1]) for each in gradients]
    found, places = np.unique(flat, return_inverse=True)
    sums = np.zeros((len(found), rows[0].shape[-1] if rows else 0))
    if rows:
        np.add.at(sums, places.reshape(-1), np.concatenate(rows))
    is_kept = found != padding if padding is not None else np.ones(len(found), bool)
    return found[is_kept], sums[is_kept]
