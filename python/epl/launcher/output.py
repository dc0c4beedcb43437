"""What processes write, passed on line by line with their names."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

_TAG = re.compile(rb"\[\d+,(\d+)\]<(?:stdout|stderr)>:")
_BEGUN_TAG = re.compile(rb"\[(?:\d+(?:,(?:\d+(?:\](?:<[a-z]*>?)?)?)?)?)?\Z")
_LINE = re.compile(rb"(\r*)(?!\r)([^\r\n]*(?:\r?\n|\r))")
_ROOM = 1 << 16  # bytes that are read at once


class Pieces:
    """Takes apart what mpirun writes.

    It tags each piece that a process writes at once, be it a part of a line, and each line of it. A line of
    its own has no tag.
    """

    def __init__(self) -> None:
        self._rest = b""  # the begin of a tag, perhaps
        self._process: int | None = None  # who wrote what comes next

    def take(self, content: bytes) -> Iterator[tuple[int | None, bytes]]:
        """What comes next, with the numbers of the processes; None for mpirun. Empty content is the end."""
        text = self._rest + content
        begun = _BEGUN_TAG.search(text) if content else None
        end = begun.start() if begun else len(text)
        self._rest = text[end:]
        first, *tagged = _TAG.split(text[:end])
        yield from self._of_one(first)
        for number, piece in zip(tagged[::2], tagged[1::2], strict=True):
            self._process = int(number)
            yield from self._of_one(piece)

    def _of_one(self, piece: bytes) -> Iterator[tuple[int | None, bytes]]:
        if self._process is not None and b"\n" in piece:
            line, _, piece = piece.partition(b"\n")
            yield self._process, line + b"\n"
            self._process = None
        if piece:
            yield self._process, piece


class Output:
    """Passes on what processes write, line by line, with their names.

    A line ends in a line feed, or in a carriage return: behind that, who shows progress writes it again.
    All is read to its end, come what may: processes wait for room in a pipe that is full.
    """

    def __init__(self, folder: Path | None, on_closed: Callable[[], object]) -> None:
        """`on_closed` is called when nobody can read what this writes any more."""
        self._folder, self._on_closed = folder, on_closed
        self._files: dict[str, IO[bytes]] = {}
        self._lock = threading.Lock()

    def follow(self, source: IO[bytes], target: IO[str]) -> threading.Thread:
        """Passes on the lines of a stream of mpirun until it ends, in a thread."""
        return _started(self._pass_all, source, target)

    def follow_process(self, name: str, source: IO[bytes], target: IO[str]) -> threading.Thread:
        """Passes on the lines of a stream of one process until it ends, in a thread."""
        return _started(self._pass_own, name, source, target)

    def close(self) -> None:
        """Closes the files; what comes later is not in them."""
        with self._lock:
            self._folder = None
            for file in self._files.values():
                file.close()

    def _pass_all(self, source: IO[bytes], target: IO[str]) -> None:
        pieces = Pieces()
        begun: dict[str, bytes] = {}  # lines that have not ended, by process
        content = b"begin"
        while content:
            content = os.read(source.fileno(), _ROOM)
            for process, piece in pieces.take(content):
                if process is None:
                    self._write(target, piece)
                else:
                    name = str(process)
                    begun[name] = self._pass_lines(name, begun.get(name, b""), piece, target)
        for name, rest in begun.items():
            if rest:
                self._pass_lines(name, rest, b"\n", target)

    def _pass_own(self, name: str, source: IO[bytes], target: IO[str]) -> None:
        begun = b""
        while content := os.read(source.fileno(), _ROOM):
            begun = self._pass_lines(name, begun, content, target)
        if begun:
            self._pass_lines(name, begun, b"\n", target)

    def _pass_lines(self, name: str, begun: bytes, piece: bytes, target: IO[str]) -> bytes:
        """Passes on the lines that end in a piece; gives the begin of the next one."""
        text = begun + piece
        if not re.search(rb"[\r\n]", piece):
            return text
        passed = 0
        for line in _LINE.finditer(text):
            self._pass(name, line[1], line[2], target)
            passed = line.end()
        return text[passed:]

    def _pass(self, name: str, before: bytes, line: bytes, target: IO[str]) -> None:
        """`before`: carriage returns, behind which the name is to be seen."""
        self._write(target, before + f"{name}: ".encode() + line)
        with self._lock:
            if self._folder is None:
                return
            try:
                if name not in self._files:
                    self._files[name] = (self._folder / f"{name.replace(' ', '.')}.log").open("ab")
                self._files[name].write(before + line)
                self._files[name].flush()
            except OSError as error:
                say(f"{error}; the run goes on without files of what processes write")
                self._folder = None

    def _write(self, target: IO[str], content: bytes) -> None:
        with self._lock, contextlib.suppress(ValueError):  # it was closed below
            try:
                target.write(content.decode(errors="replace"))
                target.flush()
            except OSError:
                with contextlib.suppress(OSError):
                    target.close()
                self._on_closed()


def _started(function: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def say(text: str) -> None:
    """A line of the launcher's own; none where nobody reads it."""
    with contextlib.suppress(OSError, ValueError):
        print(f"epl-launch: {text}", file=sys.stderr, flush=True)
