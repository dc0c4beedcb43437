"""A step that reads tables and applies no gradients: as a worker evaluates between its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.executable import PathLike, user_path
from epl.processes.gathering import gather
from epl.servers.connection import Connection, current
from epl.servers.rows import Rows
from epl.servers.saved import write
from epl.servers.served import evaluation_of
from epl.stages import Compiled, Lowered
from epl.tables.steps import StepTables


class EvaluationStep(Compiled):
    """The whole step, which is given the rows that servers have when it is called. It makes none."""

    def __init__(self, plan: Any, lowered: Lowered, tables: StepTables) -> None:
        """Errors as of `Rows`."""
        super().__init__(plan, lowered)
        self._rows = Rows(lowered, tables)

    def save(self, path: PathLike) -> None:
        """As the base class."""
        super().save(path)
        write(user_path(path), self.plan, evaluation_of(self.lowered, self._rows.tables))

    def _results(self, leaves: list[Any], *, donate: bool | None, **options: bool) -> list[Any]:
        return super()._results([*leaves, *self._pulled(leaves)], donate=donate, **options)

    def _pulled(self, leaves: list[Any]) -> Sequence[Any]:
        """The rows of its lookups."""
        ids = self._rows.ids(leaves)
        return self._connection().pull_rows(self._rows.requests(ids))

    def _connection(self) -> Connection:
        """That of the step which trains the tables.

        Raises:
          ArgumentError: if there is none, or it has others.
        """
        connection = current()
        for table in self._rows.tables.tables:
            if connection is None:
                raise ArgumentError(
                    f'table "{table.name}" has no rows before the first call of a step that trains it: '
                    f"call {self.name} after that"
                )
            connection.check_table(table)
        assert connection is not None, "a step of this kind has tables"
        return connection

    def _run_both(self, leaves: list[Any]) -> tuple[Any, Any]:
        """As the base class, on the same rows."""
        rows = self._pulled(leaves)
        expected = self._reference.run([*gather(leaves), *rows], donate=False, prints=False)
        return super()._results([*leaves, *rows], donate=False), expected
