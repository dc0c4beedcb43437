"""What a table is, who keeps the rows of this process's tables, and what is loaded once there is somebody."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from epl.errors import ArgumentError
from epl.tables.inits import Init


@dataclass(frozen=True)
class TableSpec:
    """What a table is: as `Table` has it."""

    name: str
    dim: int
    optimizer: Any
    init: Init
    dtype: np.dtype[Any]
    padding: int | None
    seed: int
    admit: int
    rows: int | None = None

    def __repr__(self) -> str:
        return f'"{self.name}", dim={self.dim}'

    def settings(self) -> dict[str, str]:
        """All but its name and its optimizer, as texts."""
        names = (each.name for each in fields(self) if each.name not in ("name", "optimizer"))
        return {name: str(getattr(self, name)) for name in names}

    def difference(self, expected: TableSpec) -> str:
        """What is not as in another one, with both values; nothing if they are equal."""
        names = [each.name for each in fields(self)]
        pairs = [(name, getattr(self, name), getattr(expected, name)) for name in names]
        return ", ".join(_difference(*pair) for pair in pairs if pair[1] != pair[2])


def _difference(name: str, found: Any, expected: Any) -> str:
    if name == "optimizer":  # functions, whose texts tell nobody what they do
        return "optimizer is another object, as each call of optax makes one"
    return f"{name} is {found}, expected {expected}"


@dataclass(frozen=True)
class Load:
    """Rows that a table is to have.

    place: a folder that servers have written, or a file. rows: how many there must be; None if nobody knows.
    values_only: whether the optimizer begins anew.
    """

    table: TableSpec
    place: str
    rows: int | None = None
    values_only: bool = False


class Keeper(Protocol):
    """The connection of this process with the servers that keep its tables."""

    @property
    def is_first(self) -> bool:
        """Whether this is worker 0, which has things done with tables."""

    def check_table(self, table: TableSpec) -> None:
        """Raises ArgumentError if servers have no such table."""

    def export_table(self, table: TableSpec, folder: str, *, changed_only: bool) -> int:
        """As `Table.export`."""

    def evict_table(self, table: TableSpec, unseen: int) -> int:
        """As `Table.evict`."""

    def rows_of_table(self, table: TableSpec, ids: Any) -> Any:
        """The rows of ids, of those that have none what they would begin with. It makes none."""

    def save_table(self, table: TableSpec, folder: str) -> int:
        """Has the servers write all rows to files of a folder, for worker 0; how many."""

    def load_table(self, load: Load) -> None:
        """As `Table.load`."""


class _Keeping:
    def __init__(self) -> None:
        self.keeper: Keeper | None = None
        self.loads: dict[str, Load] = {}

    def keeper_for(self, what: str, table: TableSpec) -> Keeper:
        """Who does something with a table.

        Raises:
          ArgumentError: before the first call of a step that trains with servers.
        """
        if self.keeper is None:
            raise ArgumentError(
                f'{what} of table "{table.name}" is called before the first call of a step that trains it'
            )
        return self.keeper

    def load(self, load: Load) -> None:
        """Loads a table now, or in the first call of a step; errors as of `Table.load`."""
        if self.keeper is None:
            self.loads[load.table.name] = load
        else:
            self.keeper.load_table(load)


KEEPING = _Keeping()
"""Of this process. `keeper`: from the first call of a step on that trains with servers. `loads`: what that
call loads, by table."""
