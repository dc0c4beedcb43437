"""A step that reads tables and trains nothing: as a worker evaluates between its steps."""

from __future__ import annotations

from typing import Any

from epl.comparison import CheckReport
from epl.errors import ArgumentError, UnsupportedError
from epl.servers.connection import Connection, current
from epl.servers.rows import Rows
from epl.stages import Compiled, Lowered
from epl.tables.steps import StepTables


class EvaluationStep(Compiled):
    """The whole step, which is given the rows that servers have when it is called. It makes none."""

    def __init__(self, plan: Any, lowered: Lowered, tables: StepTables) -> None:
        """Errors as of `Rows`."""
        super().__init__(plan, lowered)
        self._rows = Rows(lowered, tables)

    def _results(self, leaves: list[Any], *, donate: bool | None, **options: bool) -> list[Any]:
        ids = self._rows.ids(leaves)
        rows = self._connection().pull_rows(self._rows.requests(ids))
        return super()._results([*leaves, *rows], donate=donate, **options)

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

    def check(self, *args: Any, rtol: float = 1e-5, atol: float = 1e-6, **kwargs: Any) -> CheckReport:  # noqa: ARG002
        """Raises UnsupportedError: the reference has no rows."""
        raise UnsupportedError(f"check of {self.name}: its tables have no reference yet")
