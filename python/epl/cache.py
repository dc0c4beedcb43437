"""The disk cache of plans: what was compiled once is loaded, by this process and by later ones.

Problem: compiling is most of the time from the start of a program to its first step, and programs are started
again and again with the same steps.

Method: an entry is a file named by its key, the hash of all that the plan depends on: program text,
options, CPU, compiler. The text holds the step's source lines, not those of its callers: traces and errors
show them, so that a step that moved in its file is compiled anew. A file holds its key once more, before
the plan, so that an entry under a wrong name is noticed; damage is noticed by the plan's own hash and
verifier. What is not in order is removed and compiled anew. An entry appears by a rename: a process that is
killed leaves a temporary file at most, and two that compile the same step write the same entry.

The cache never fails a compilation: what is wrong with its folder is a warning, once in a process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from epl import runtime
from epl.files import replace_file

LIMIT = 1 << 30  # bytes of all entries; beyond it those that were not used for longest are removed

_KEY_BYTES = hashlib.sha256().digest_size
_ENTRY = re.compile(r"[0-9a-f]{64}\.plan")
_TEMPORARY = re.compile(rf"\.{_ENTRY.pattern}\..+")
_ABANDONED_SECONDS = 3600.0  # no file takes that long to write: its writer was killed
_warned: set[str] = set()  # each subject once in a process


class PlanCache:
    """The entries in one folder, which is made when the first one is stored; at most `limit` bytes."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder = folder
        self._limit = limit

    def load(self, key: str, parse: Callable[[bytes], Any]) -> Any:
        """What `parse` makes of the entry's plan file, or None: no entry, or one that is not in order."""
        path = self._path(key)
        try:
            content = _read_own(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        if content[:_KEY_BYTES] == bytes.fromhex(key):
            with contextlib.suppress(runtime.module().Error):
                plan = parse(content[_KEY_BYTES:])
                _mark_used(path)
                return plan
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def store(self, key: str, plan: bytes) -> None:
        """Adds an entry, or replaces it, and removes the oldest ones beyond the limit."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path(key), bytes.fromhex(key) + plan)
            self._shrink()
        except OSError as error:
            self._warn(error)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.plan"

    def _shrink(self) -> None:
        """Removes what is beyond the limit and what killed processes left; touches no other files."""
        entries, abandoned = [], time.time() - _ABANDONED_SECONDS
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process removes as well
                status = path.stat()
                if _ENTRY.fullmatch(path.name):
                    entries.append((status.st_mtime_ns, status.st_size, path))
                elif _TEMPORARY.fullmatch(path.name) and status.st_mtime < abandoned:
                    path.unlink()
        size = sum(entry[1] for entry in entries)
        for _, bytes_freed, path in sorted(entries):
            if size <= self._limit:
                break
            path.unlink(missing_ok=True)
            size -= bytes_freed

    def _warn(self, error: OSError) -> None:
        _warn_once(f'the plan cache "{self.folder}" cannot be used', error.strerror or error)


def plan_cache() -> PlanCache | None:
    """The cache in `$EPL_CACHE_DIR`, else in the user's cache folder (XDG); None if it is switched off."""
    named = os.environ.get("EPL_CACHE_DIR")
    if named is not None:
        return PlanCache(Path(named)) if named else None
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the standard says to ignore such a value
        try:
            base = Path.home() / ".cache"
        except RuntimeError as error:
            _warn_once("there is no plan cache", error)
            return None
    return PlanCache(base / "epl")


def plan_key(text: str, options: Sequence[str]) -> str:
    """The key of the plan that the compiler makes of a program with these options."""
    parts = [_digest_of(runtime.compiler()), runtime.module().host_cpu(), *options, text]
    key = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        key.update(len(encoded).to_bytes(8, "little") + encoded)  # no two lists give the same bytes
    return key.hexdigest()


def _digest_of(program: Path) -> str:
    """Identifies a build of the compiler by its content."""
    status = program.stat()
    return _digest(program, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _digest(program: Path, _size: int, _mtime: int) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()


def _read_own(path: Path) -> bytes:
    """A file's content; a plan is machine code, so that files of other users than root count as absent."""
    with path.open("rb") as file:
        owner = os.fstat(file.fileno()).st_uid
        return file.read() if owner in (0, os.geteuid()) else b""


def _mark_used(path: Path) -> None:
    with contextlib.suppress(OSError):  # a read-only cache is a good one
        os.utime(path)


def _warn_once(what: str, reason: object) -> None:
    if what not in _warned:
        _warned.add(what)
        message = f"{what}: {reason}; steps are compiled anew (EPL_CACHE_DIR)"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
