"""Tables in checkpoints: servers write their rows beside what orbax writes.

    FOLDER/7/          orbax's; where the tree has a table, a number says how many rows it has
    FOLDER/tables/7/   the rows, by servers, and tables.json: what is a table

The folder of rows is whole before orbax begins, and orbax's appears last: a checkpoint without it is none.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from epl.checkpoints.paths import names, path_text
from epl.errors import StateError, reason
from epl.files import write_file
from epl.tables.keeping import KEEPING, Load, TableSpec
from epl.tables.saves import new_folder, removed_if_failed
from epl.tables.table import Table, is_table

_FOLDER, _MANIFEST = "tables", "tables.json"


@dataclass(frozen=True)
class SavedTable:
    """A table as a checkpoint has it, in the place of shape and dtype of an array."""

    name: str

    def __str__(self) -> str:
        return f'table "{self.name}"'


class TableLeaf:
    """A table in a tree that orbax saves or restores: a leaf, which JAX does not look into."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @property
    def kind(self) -> SavedTable:
        """What must be on disk."""
        return SavedTable(self.table.name)


def as_leaves(tree: Any) -> Any:
    """The tree with a `TableLeaf` for each table."""
    return jax.tree.map(lambda leaf: TableLeaf(leaf) if is_table(leaf) else leaf, tree, is_leaf=is_table)


def tables_of(tree: Any) -> dict[str, Table]:
    """The tables of a tree, by path."""
    leaves = jax.tree.flatten_with_path(tree, is_leaf=is_table)[0]
    return {path_text(names(path)): leaf for path, leaf in leaves if is_table(leaf)}


def check_kept(tree: Any) -> None:
    """Raises ArgumentError if a tree has tables that servers do not keep (yet)."""
    for table in tables_of(tree).values():
        KEEPING.keeper_for("a save", table.spec).check_table(table.spec)


def save(tree: Any, folder: Path, number: int) -> Any:
    """Has the servers write the rows of a tree's tables, of checkpoint `number`, in worker 0.

    Returns:
      The tree with the number of rows in the place of each table.

    Raises:
      Error: if they cannot be written; then nothing of them is left.
      ProcessError: if a server cannot write, or is lost; likewise.
    """
    tables = tables_of(tree)
    if not tables:
        return tree
    specs = {table.name: table.spec for table in tables.values()}
    place = new_folder(folder / _FOLDER / str(number), ", ".join(specs))
    with removed_if_failed(place):
        rows = {name: _save(spec, place) for name, spec in specs.items()}
        listed = {path: {"name": table.name, "rows": rows[table.name]} for path, table in tables.items()}
        write_file(place / _MANIFEST, json.dumps(listed, indent=1).encode())

    def counted(leaf: Any) -> Any:
        return np.array(rows[leaf.name], np.int64) if is_table(leaf) else leaf

    return jax.tree.map(counted, tree, is_leaf=is_table)


def _save(spec: TableSpec, place: Path) -> int:
    return KEEPING.keeper_for("a save", spec).save_table(spec, str(place))


def saved_in(folder: Path, number: int) -> dict[str, SavedTable]:
    """What is a table in a checkpoint, by path; raises StateError for a damaged list of them."""
    manifest = folder / _FOLDER / str(number) / _MANIFEST
    if not manifest.exists():
        return {}
    try:
        listed = json.loads(manifest.read_bytes())
        return {str(path): SavedTable(str(each["name"])) for path, each in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise StateError(f'"{manifest}" does not say which tables are saved: {reason(error)}') from None


def load(tree: Any, leaves: Any, folder: Path, number: int) -> Any:
    """A tree that was restored, with its tables, whose rows are loaded.

    Args:
      tree: with a number of rows where a table was restored. leaves: the same with each `TableLeaf`.

    Raises:
      Error: as `Table.load`.
    """
    place = str(folder / _FOLDER / str(number))

    def loaded(found: Any, leaf: Any) -> Any:
        if not isinstance(leaf, TableLeaf):
            return found
        if found is not leaf:
            KEEPING.load(Load(leaf.table.spec, place, int(found)))
        return leaf.table

    return jax.tree.map(loaded, tree, leaves)


def keep_only(folder: Path, numbers: Iterable[int]) -> None:
    """Removes the rows of checkpoints that are not there (any more)."""
    kept = {str(number) for number in numbers}
    for place in (folder / _FOLDER).glob("*"):
        if place.name not in kept:
            shutil.rmtree(place, ignore_errors=True)


def remove(folder: Path, number: int) -> None:
    """Removes the rows of a checkpoint that could not be saved."""
    shutil.rmtree(folder / _FOLDER / str(number), ignore_errors=True)


def kinds_with(kinds: Mapping[str, Any], tables: Mapping[str, SavedTable]) -> dict[str, Any]:
    """What a checkpoint has, by path, of which some are tables."""
    return {path: tables.get(path, kind) for path, kind in kinds.items()}
