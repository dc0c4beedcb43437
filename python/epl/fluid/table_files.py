"""Tables of programs beside files of variables: by rows, for training, or whole, for inference.

By rows, as servers of Fluid save them when they are notified:

<folder>/<table>_<i>                 files of server i, in the layout of safetensors
<folder>/<table>.parts               links to the files of all servers, and what the table is (table.json)

A process without servers reads these as a parameter, with rows that nobody has trained as they would begin.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from epl.errors import Error, reason
from epl.servers.compiling import server_level
from epl.servers.guarded import guarded
from epl.servers.rehearsal import own_server
from epl.tables.apply import updates_of
from epl.tables.inits import Init
from epl.tables.keeping import KEEPING, TableSpec
from epl.tables.table import Table

_SERVER = re.compile(r"\.server([0-9]+)of[0-9]+\.")
_PULLED = 1 << 16  # rows at once
_ABOUT, _VERSION = "table.json", 1
_KEYS = {"version", "dim", "rows", "dtype", "padding", "init", "seed", "kept"}


def save(table: Table, folder: str | os.PathLike[str]) -> None:
    """Has the servers write a table, once all runs so far are applied; trainer 0 does, others do nothing.

    Raises:
      ArgumentError: before the first run of the program that trains it.
      Error: if folders cannot be made.
      ProcessError: if a server cannot write, with its reason, or is lost.
    """
    keeper = KEEPING.keeper_for("save", table.spec)
    if not keeper.is_first:
        return
    base = Path(folder).resolve()
    writing, links = base / f"{_file(table)}.saving", _links(base, table)
    try:
        _remove(writing)
        writing.mkdir(parents=True)
        keeper.save_table(table.spec, str(writing))
        for each in (links, *_of_servers(base, table)):
            _remove(each)
        (base / table.name).unlink(missing_ok=True)  # of a model for inference before
        links.mkdir()
        for path in sorted(writing.iterdir()):
            _deal_out(path, base, table, links)
        (links / _ABOUT).write_text(json.dumps(_about(table.spec), indent=1))
    except OSError as error:
        raise Error(f'table "{table.name}" cannot be saved in "{base}": {reason(error)}') from None
    finally:
        shutil.rmtree(writing, ignore_errors=True)


def load(table: Table, folder: str | os.PathLike[str]) -> None:
    """Gives a table the rows of a save, however many servers wrote it; all trainers call it alike.

    Before the first run of the program that trains the table, they are loaded in that run. Errors as of
    `Table.load`.
    """
    table.load(_links(Path(folder).resolve(), table))


def whole(table: Table) -> np.ndarray[Any, Any]:
    """All rows of a table as one array, those that nobody has trained as they would begin; any trainer asks.

    Raises:
      ArgumentError: before the first run of the program that trains it.
      ProcessError: if a server is lost.
    """
    keeper = KEEPING.keeper_for("save", table.spec)
    return _joined(table.spec, functools.partial(keeper.rows_of_table, table.spec))


def _joined(table: TableSpec, pull: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    assert table.rows is not None, "tables of programs have as many rows as their variables"
    value = np.empty((table.rows, table.dim), table.dtype)
    for first in range(0, table.rows, _PULLED):
        rows = value[first : first + _PULLED]
        rows[:] = pull(np.arange(first, first + len(rows)))
    return value


def saved(folder: str | os.PathLike[str], names: Iterable[str]) -> dict[str, Path]:
    """Of these variables those that a folder has by rows, as `save` leaves them, with where it has them.

    Raises:
      Error: for what an optimizer of such a table keeps, which no variable has.
    """
    base, wanted = Path(folder), list(names)
    found = {name: base / f"{quote(name, safe='')}.parts" for name in wanted if not (base / name).exists()}
    found = {name: parts for name, parts in found.items() if (parts / _ABOUT).is_file()}
    for table, parts in found.items():
        for name in sorted(set(wanted).intersection(_read(parts)["kept"])):
            raise Error(
                f'"{parts}" has "{name}" with each row of table "{table}", as its servers keep it: a process '
                "without servers loads a program that does not train, as clone(for_test=True) gives it"
            )
    return found


def read_whole(name: str, parts: Path) -> np.ndarray[Any, Any]:
    """All rows that were saved as `saved` says, as one array; a server in this process loads them.

    Raises:
      Error: for a damaged or missing file.
    """
    about = _read(parts)
    made = Table(
        name,
        dim=about["dim"],
        optimizer=_AsItIs(),
        init=Init(*about["init"]),
        dtype=about["dtype"],
        padding=about["padding"],
        seed=about["seed"],
        rows=about["rows"],
    )
    with own_server({made.spec: updates_of(made.spec, server_level())}) as (worker, step):
        guarded(worker.load_table, step, 0, str(parts.resolve()), True)

        def pull(ids: Any) -> Any:
            return guarded(worker.pull_rows, step, [(0, ids, False, made.spec.padding)])[0]

        return _joined(made.spec, pull)


@dataclass(frozen=True)
class _AsItIs:
    """An optimizer that leaves rows as they are."""

    def init(self, row: Any) -> tuple[()]:
        del row
        return ()

    def update(self, gradient: Any, state: tuple[()], row: Any) -> tuple[Any, tuple[()]]:
        del row
        return gradient * 0, state


def _about(table: TableSpec) -> dict[str, Any]:
    kept = table.optimizer.init(None)
    init = (table.init.kind, table.init.scale)
    about = {"dim": table.dim, "rows": table.rows, "dtype": table.dtype.name, "padding": table.padding}
    return {"version": _VERSION, **about, "init": init, "seed": table.seed, "kept": sorted(kept)}


def _read(parts: Path) -> Any:
    """What `_about` has said."""
    path = parts / _ABOUT
    try:
        found = json.loads(path.read_bytes())
        if found["version"] == _VERSION and found.keys() == _KEYS:
            return found
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise Error(f'"{path}" does not say what the table is: {reason(error)}') from None
    raise Error(f'"{path}" does not say what the table is: expected version {_VERSION}, found {found}')


def _deal_out(path: Path, base: Path, table: Table, links: Path) -> None:
    """Moves a file to the folder of its server."""
    found = _SERVER.search(path.name)
    assert found is not None, "servers name their files so"
    own = base / f"{_file(table)}_{found[1]}"
    own.mkdir(exist_ok=True)
    path.rename(own / path.name)
    (links / path.name).symlink_to(Path("..", own.name, path.name))


def _file(table: Table) -> str:
    return quote(table.name, safe="")


def _links(base: Path, table: Table) -> Path:
    return base / f"{_file(table)}.parts"


def _of_servers(base: Path, table: Table) -> list[Path]:
    of_server = re.compile(re.escape(_file(table)) + r"_[0-9]+")
    return [path for path in base.iterdir() if path.is_dir() and of_server.fullmatch(path.name)]


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
