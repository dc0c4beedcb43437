"""Has all processes of a run do the same with their checkpoints.

Problem: orbax's processes meet several times in a save and in a restore. Where one asks for something else,
or is not there, the others wait without end, or each reads a part of another checkpoint.
Method: what is asked of checkpoints is an operation of the run (processes/group.py): who has ended before it,
or does something else, is noticed. What waits for all processes anyway, to open a folder and to restore,
compares first what each asks for, and whether it can be done.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from epl.errors import Error, ProcessError, reason
from epl.processes import group
from epl.processes.group import Group

Prepared = TypeVar("Prepared")


def count(what: str) -> None:
    """Counts an operation that waits for nobody.

    Raises:
      ProcessError: if a process is lost.
    """
    present = group.current()
    if present is not None:
        present.begin(what)


def together(what: str, prepare: Callable[[], tuple[Sequence[str], Prepared]]) -> Prepared:
    """Prepares an operation in all processes, which then do it in all of them, or in none.

    Args:
      what: it is: "a restore".
      prepare: gives what all must ask for alike, as texts, and what this process needs.

    Raises:
      Error: what `prepare` has raised; in other processes one that says so.
      ProcessError: if processes ask for other things.
    """
    present = group.current()
    if present is None:
        return prepare()[1]
    asked: Sequence[str] = ()
    prepared, error = None, None
    try:
        asked, prepared = prepare()
    except Error as found:
        error = found
    said = present.share((list(asked), error and str(error)), what)
    if error is not None:
        raise error
    for process, (other, problem) in enumerate(said):
        if problem is not None:
            raise Error(f"{present.describe(process)} can't take part in {what}: {problem}")
        if different := first_difference(said[0][0], other, "nothing more"):
            here, there = different
            raise ProcessError(
                f"process 0 asks in {what} for {here} where {present.describe(process)} asks for {there}; "
                "expected the same of all"
            )
    assert prepared is not None
    return prepared


def first_difference(one: Sequence[str], other: Sequence[str], missing: str) -> tuple[str, str] | None:
    """The first texts that differ in two lists, `missing` behind the end of one; None for equal lists."""
    pairs = itertools.zip_longest(one, other, fillvalue=missing)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def open_folder(folder: Path, options: str) -> None:
    """Makes a folder, and sees that it is one for all processes.

    Raises:
      Error: if it can't be made, or processes on other hosts have another one of that name.
      ProcessError: if processes open other folders, or with other options.
    """
    present = group.current()
    together("the opening of checkpoints", lambda: ((f'"{folder}"', options), _make(folder)))
    if present is not None:
        _check_shared(present, folder)


def _make(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f'"{folder}" is no folder for checkpoints: {reason(error)}') from None
    return folder


def _check_shared(present: Group, folder: Path) -> None:
    """What process 0 leaves in it the others must find; of one that it only reads all must see the same."""
    token = folder / f".epl-{secrets.token_hex(8)}"
    is_written = False
    if present.process == 0:
        with contextlib.suppress(OSError):
            token.touch()
            is_written = True
    name, is_written = present.share((token.name, is_written), "the opening of checkpoints")[0]
    seen = (folder / name).exists() if is_written else _seen(folder)
    found = present.share(seen, "the opening of checkpoints")
    if is_written and present.process == 0:
        token.unlink(missing_ok=True)
    for process, other in enumerate(found):
        if other != found[0]:
            raise Error(
                f'"{folder}" is not one folder for all processes: {present.describe(process)} does not find '
                f"what process 0 {'writes' if is_written else 'sees'} there; expected one on a disk that all "
                "hosts share"
            )


def _seen(folder: Path) -> tuple[int, int, list[str]]:
    """What is the same wherever a folder is mounted."""
    found = folder.stat()
    return found.st_ino, found.st_mtime_ns, sorted(path.name for path in folder.iterdir())
