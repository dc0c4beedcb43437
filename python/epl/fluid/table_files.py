"""Tables of programs beside files of variables: by rows, for training, or whole, for inference.

By rows, as servers of Fluid save them when they are notified:

<folder>/<table>_<i>                 files of server i, in the layout of safetensors
<folder>/<table>.parts               links to the files of all servers
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from epl.errors import Error, reason
from epl.tables.keeping import KEEPING
from epl.tables.table import Table

_SERVER = re.compile(r"\.server([0-9]+)of[0-9]+\.")
_PULLED = 1 << 16  # rows at once


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
        links.mkdir()
        for path in sorted(writing.iterdir()):
            _deal_out(path, base, table, links)
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
    spec = table.spec
    assert spec.rows is not None, "tables of programs have as many rows as their variables"
    keeper = KEEPING.keeper_for("save", spec)
    value = np.empty((spec.rows, spec.dim), spec.dtype)
    for first in range(0, spec.rows, _PULLED):
        rows = value[first : first + _PULLED]
        rows[:] = keeper.rows_of_table(spec, np.arange(first, first + len(rows)))
    return value


def check_whole(folder: str | os.PathLike[str], names: Iterable[str]) -> None:
    """Raises Error if a folder has one of these variables by rows alone, as `save` leaves it."""
    base = Path(folder)
    for name in names:
        if (parts := base / f"{quote(name, safe='')}.parts").is_dir() and not (base / name).exists():
            raise Error(
                f'"{base}" has "{name}" by rows ("{parts}"), as parameter servers save a table, and this '
                "process has none that train it: fluid.io.save_inference_model of a trainer writes it as a "
                "parameter, which every process loads"
            )


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
