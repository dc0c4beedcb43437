"""The timeline of a step over processes: one file with the devices of all.

Problem: each process records the commands of its own devices, from its own moment on.
Method: each notes what the system's clock says when its recording begins, and at the end all tell process 0
what they have, which moves the events of each by what it began later. A step is from the first begin of its
commands to the last end, wherever these are.
Invariant out: all leave when the file is written, or with the error why it is not.
"""

from __future__ import annotations

import contextlib
import json
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from epl.errors import ProcessError
from epl.files import write_file
from epl.processes.agreement import in_all
from epl.processes.group import Group

Recording = tuple[int, bytes]  # the clock when it began, in nanoseconds, and its JSON, compressed
Event = dict[str, Any]  # of Chrome's trace format: "ts" and "dur" are in microseconds


@contextlib.contextmanager
def recorded(group: Group, session: Any, name: str, path: Path) -> Iterator[None]:
    """Records the calls of step `name` in the block, and has process 0 write them; called by all.

    A block that raises writes nothing: the others may not have come to its end.

    Raises:
      ProcessError: if processes write to other paths, or one is lost.
      Error: in all processes, if the file cannot be written.
    """
    what = f"a timeline of {name}"
    _check_paths(group, group.share(str(path), f"the begin of {what}"), what)
    session.trace(False)  # waits for the calls before
    begin = time.time_ns()
    session.trace(True)
    try:
        yield
    finally:
        session.trace(False)
    own = (begin, zlib.compress(session.trace_json().encode(), 1))
    recordings = group.share(own, f"the end of {what}")

    def write() -> None:
        if group.process == 0:
            write_file(path, json.dumps(merged(recordings)).encode())

    in_all(f"the writing of {what}", write)


def _check_paths(group: Group, paths: Sequence[str], what: str) -> None:
    for process, path in enumerate(paths):
        if path != paths[0]:
            raise ProcessError(
                f'{what} is written to "{paths[0]}" by process 0, to "{path}" by {group.describe(process)}; '
                "expected one path: process 0 writes the devices of all"
            )


def merged(recordings: Sequence[Recording]) -> dict[str, Any]:
    """One timeline of those of all processes, which have other devices and the same calls."""
    first = min(begin for begin, _ in recordings)
    names: dict[Any, Event] = {}
    steps: dict[str, Event] = {}
    events: list[Event] = []
    for begin, content in recordings:
        for event in json.loads(zlib.decompress(content))["traceEvents"]:
            if event["ph"] == "M":
                names.setdefault((event["name"], event["pid"], event["tid"]), event)
                continue
            event["ts"] += (begin - first) / 1000
            if event["cat"] == "step":
                steps[event["name"]] = _union(steps.get(event["name"], event), event)
            else:
                events.append(event)
    return {"traceEvents": [*names.values(), *events, *steps.values()], "displayTimeUnit": "ms"}


def _union(one: Event, other: Event) -> Event:
    """A step from the first of two begins to the last of two ends."""
    begin = min(one["ts"], other["ts"])
    end = max(one["ts"] + one["dur"], other["ts"] + other["dur"])
    return {**one, "ts": begin, "dur": end - begin}
