"""The file beside a saved plan that says what servers have of its step.

    step.eplan             the worker's plan, as `Compiled.save` writes each
    step.eplan.servers     who has what, the programs of servers, the updates of rows

It has the hash of its own content, and that of the plan: a plan that another step has written to the same
path has no such file. Who has what follows from how many servers there are, so the file is for as many.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from epl.errors import Error
from epl.files import write_file
from epl.servers.packing import packed, unpacked

Kind = Literal["worker", "geo", "evaluation"]
"""What the plan is: a worker's part of a step, the whole step in mode geo, or one that applies nothing."""

_VERSION = 1
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Parts:
    """What servers have of a step.

    arguments, results: of the step, as `slots.slot` describes them. What follows is empty for an evaluation.
    cut: how parameters are cut for so many servers, as the compiler is told it. level: of the servers' CPUs.
    roles: who has what. programs: the plan files of servers, by name. updates: those of rows, by table.
    """

    kind: Kind
    arguments: list[Any]
    results: list[Any]
    cut: list[str]
    level: str
    roles: Any
    programs: dict[str, bytes]
    updates: dict[str, bytes]


def path_of(path: Path) -> Path:
    """The file beside a plan's."""
    return path.with_name(f"{path.name}.servers")


def write(path: Path, plan: Any, parts: Parts) -> None:
    """Writes the file beside a plan; raises Error if it cannot."""
    header = {
        "version": _VERSION,
        "plan": _digest(plan.to_bytes()).hex(),
        "kind": parts.kind,
        "arguments": parts.arguments,
        "results": parts.results,
        "cut": parts.cut,
        "level": parts.level,
        "roles": parts.roles,
        "programs": list(parts.programs),
        "updates": list(parts.updates),
    }
    content = packed(header, [*parts.programs.values(), *parts.updates.values()])
    write_file(path_of(path), _digest(content) + content)


def read(path: Path, plan: Any) -> Parts | None:
    """What `write` has written beside a plan; None if there is nothing for this one.

    Raises:
      Error: for a damaged file.
    """
    file = path_of(path)
    if not file.exists():
        return None
    try:
        content = file.read_bytes()
    except OSError as error:
        raise Error(f'"{file}" cannot be read: {error.strerror}') from None
    found, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if found != _digest(content):
        raise Error(f'"{file}" does not hold what servers have of a step: it is damaged')
    header, contents = unpacked(content)
    if header["version"] != _VERSION:
        raise Error(f'"{file}" is of version {header["version"]}, expected {_VERSION}: save the step again')
    if header["plan"] != _digest(plan.to_bytes()).hex():
        return None
    each = iter(contents)
    return Parts(
        header["kind"],
        header["arguments"],
        header["results"],
        header["cut"],
        header["level"],
        header["roles"],
        {name: next(each) for name in header["programs"]},
        {table: next(each) for table in header["updates"]},
    )


def check_alone(path: Path, plan: Any) -> None:
    """Raises Error for a plan that works with servers, which is loaded without its step."""
    exchanges = any(slot.role in ("pulled", "pushed") for slot in plan.slots)
    parts = None if exchanges else read(path, plan)
    if exchanges or (parts is not None and parts.kind == "geo"):
        raise Error(
            f'"{path}" is what a worker does of a step that parameter servers train: load it with like=, the '
            "lowered step"
        )


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
