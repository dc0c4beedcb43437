"""Waits for the compiler, and shows on a terminal how far it is and how long it will still take.

The compiler says how far it is in lines on its standard error (`epl-compile --progress`), which goes to a
file here, so that it never waits for us to read. Two seconds pass in silence: most compilations need no more.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

_QUIET_SECONDS = 2.0
_INTERVAL = 0.25
_LINE = re.compile(r"^progress: (?P<percent>\d+)% (?P<what>.*)\n", re.M)
_LEAST_PERCENT = 5  # below it, an estimate of the time left is a guess


@dataclass(frozen=True)
class Progress:
    """How much of a compilation is done, and what it does now."""

    percent: int
    what: str

    def seconds_left(self, elapsed: float) -> float | None:
        """The time left if it goes on as fast as it went for `elapsed` seconds; None if nobody knows yet."""
        return elapsed * (100 / self.percent - 1) if self.percent >= _LEAST_PERCENT else None


def split_diagnostics(text: str) -> tuple[Progress | None, str]:
    """What the compiler wrote: the newest progress, and all the rest."""
    lines = list(_LINE.finditer(text))
    newest = Progress(int(lines[-1]["percent"]), lines[-1]["what"]) if lines else None
    return newest, _LINE.sub("", text)


def is_shown() -> bool:
    """Whether anybody sees the progress: only a terminal can replace a line."""
    return sys.stderr.isatty()


def read_all(file: IO[bytes]) -> str:
    """The text that a child has written so far; where it goes on writing stays as it is."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


_checks: list[Callable[[], None]] = []


@contextlib.contextmanager
def checking(check: Callable[[], None]) -> Iterator[None]:
    """Calls a function now and then while a compiler runs in the block: what it raises ends the compiler."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


def wait(child: subprocess.Popen[str], text: str, errors: IO[bytes], name: str) -> str:
    """Gives the child its input and waits for its end; gives its output.

    Args:
      errors: the file that the child's standard error goes to.
      name: of the step that is compiled.

    Raises:
      Error: what a function raises that `checking` was given.
    """
    start, shows = time.monotonic(), False
    given: str | None = text
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = child.communicate(given, _INTERVAL)
            if shows:
                _show("")
            return output
        given = None  # the child has it, or what it has not taken yet is kept
        for check in _checks:
            check()
        elapsed = time.monotonic() - start
        if is_shown() and elapsed >= _QUIET_SECONDS:
            shows = True
            progress, _ = split_diagnostics(read_all(errors))
            _show(describe(name, progress, elapsed))


def describe(name: str, progress: Progress | None, elapsed: float) -> str:
    """The line for people."""
    line = f"{name}: compiling, {elapsed:.0f} s"
    if progress is None:
        return line
    line += f", {progress.percent} % ({progress.what})"
    left = progress.seconds_left(elapsed)
    return line if left is None else f"{line}, about {max(1, round(left))} s left"


def _show(line: str) -> None:
    """Replaces the terminal's current line."""
    print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
