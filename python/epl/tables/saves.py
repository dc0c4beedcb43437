"""Saves of a table in a folder: parts that servers write, and a manifest that says that they are whole.

    FOLDER/user.table.json                        which parts, and how many rows these have
    FOLDER/user.3f9a01c2.parts/user.server0of2.lane0of1.safetensors ...

A save writes parts of its own, then the manifest by rename. So the folder has the save before until all of
the new one is there.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from epl.errors import Error, reason
from epl.files import write_file
from epl.tables.keeping import Keeper, Load, TableSpec

_VERSION = 1


def save(keeper: Keeper, table: TableSpec, folder: Path) -> int:
    """As `Table.save`, in worker 0."""
    parts = new_folder(folder / f"{_escaped(table)}.{secrets.token_hex(4)}.parts", table.name)
    with removed_if_failed(parts):
        rows = keeper.save_table(table, str(parts))
        found = {"version": _VERSION, "table": table.name, "rows": rows, "parts": parts.name}
        write_file(_manifest(folder, table), json.dumps(found, indent=1).encode())
    for other in _parts(folder, table):
        if other != parts:
            shutil.rmtree(other, ignore_errors=True)
    return rows


def export(keeper: Keeper, table: TableSpec, folder: Path, *, changed_only: bool) -> int:
    """As `Table.export`, in worker 0."""
    place = _made(folder, table.name, exist_ok=True)
    return keeper.export_table(table, str(place), changed_only=changed_only)


def new_folder(path: Path, table: str) -> Path:
    """Makes a folder for servers to write to, without what was there; raises Error if it cannot."""
    shutil.rmtree(path, ignore_errors=True)
    return _made(path, table, exist_ok=False)


def _made(path: Path, table: str, *, exist_ok: bool) -> Path:
    """A folder that is made, `exist_ok`: if it is not there; raises Error if it cannot."""
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        raise Error(f'table "{table}" cannot be saved in "{path}": {reason(error)}') from None
    return path


@contextlib.contextmanager
def removed_if_failed(folder: Path) -> Iterator[None]:
    """Removes a folder if what writes it, in the block, raises something."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def find(load: Load) -> Load:
    """The same with the folder, or the one file, that servers read, and how many rows there are.

    Raises:
      Error: if there is nothing, a save that did not finish, or a damaged manifest.
    """
    if load.rows is not None:
        return load
    try:
        return _found(load)
    except OSError as error:
        raise Error(f'"{load.place}" has no rows of table "{load.table.name}": {reason(error)}') from None


def _found(load: Load) -> Load:
    table, place = load.table, Path(load.place)
    about = f'"{place}" has no rows of table "{table.name}"'
    manifest = _manifest(place, table)
    if manifest.is_file():
        parts, rows = _read(manifest, table)
        if not (place / parts).is_dir():
            raise Error(f'"{manifest}" says that rows are in "{place / parts}", which is not there')
        return replace(load, place=str(place / parts), rows=rows)
    if unfinished := _parts(place, table):
        raise Error(f'{about}: the save to "{unfinished[0]}" did not finish')
    if not place.exists():
        raise Error(f"{about}: it is not there")
    return load


def _read(manifest: Path, table: TableSpec) -> tuple[str, int]:
    try:
        found = json.loads(manifest.read_bytes())
        version, name, rows, parts = (found[key] for key in ("version", "table", "rows", "parts"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Error(f'"{manifest}" is no manifest of a saved table: {reason(error)}') from None
    expected = (_VERSION, table.name, True, True)
    if (
        version,
        name,
        isinstance(rows, int),
        isinstance(parts, str) and Path(parts).name == parts,
    ) != expected:
        raise Error(
            f'"{manifest}" is no manifest of a saved table: expected version {_VERSION} of table '
            f'"{table.name}", found {found}'
        )
    return parts, rows


def _escaped(table: TableSpec) -> str:
    """The name in names of files, as servers write it."""
    return quote(table.name, safe="").replace(".", "%2E").replace("~", "%7E")


def _manifest(folder: Path, table: TableSpec) -> Path:
    return folder / f"{_escaped(table)}.table.json"


def _parts(folder: Path, table: TableSpec) -> list[Path]:
    """Folders of saves, the one that counts and others."""
    begin = f"{_escaped(table)}."
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        path for path in found if path.name.startswith(begin) and path.suffix == ".parts" and path.is_dir()
    )
