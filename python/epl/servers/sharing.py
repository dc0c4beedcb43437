"""Worker 0 compiles for all: the others take its plans of the first step, where theirs would be the same.

They say what the plans depend on (program, options, compiler, CPU) by one key. A worker with another one, on
another kind of machine or with batches of another size, compiles for itself, and for servers of the level of
CPUs that worker 0 says; whether that is the same job, the servers tell by the manifest. Later steps, such as
one for a shorter last batch, may be those of one worker alone, and are compiled by each that has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from epl import runtime
from epl.cache import plan_key
from epl.errors import ProcessError
from epl.servers.compiling import server_level
from epl.servers.gathering import gathering_of
from epl.servers.packing import packed, unpacked
from epl.servers.roles import Role


class Plans(NamedTuple):
    """The plan files of servers, by the names of their programs, and a worker's plan."""

    servers: dict[str, bytes]
    worker: Any


_level = ""  # of servers' CPUs, once workers have agreed
_has_compared = False


def agreed_level() -> str:
    """The level of CPUs that servers' plans are for: that of worker 0, once its plans have come."""
    return _level or server_level()


def agree(level: str) -> None:
    """Has servers' plans from here on be for CPUs of a level, which all workers have read from one file.

    What a worker compiles behind that it compiles alone, so nothing is compared.
    """
    global _level, _has_compared
    _level, _has_compared = _level or level, True


def compile_for_all(
    role: Role | None, text: str, options: Sequence[str], name: str, compile_here: Callable[[str], Plans]
) -> Plans:
    """The plans of a step.

    Args:
      role: what this process is; None if it is alone.
      text: the step as MLIR text.
      options: of the compiler, all of them.
      name: of the step.
      compile_here: compiles for servers of a level of CPUs, or finds the plans in the cache.

    Raises:
      Error: what `compile_here` raises.
      ProcessError: if worker 0 has ended or is lost, or the job has ended: without either there is none.
    """
    global _level
    level = agreed_level()
    if role is None or role.workers == 1 or _level:
        return compile_here(level)
    _level = level
    gathering = gathering_of(role)
    if gathering.is_late:
        return compile_here(level)
    what, key = f"compilation of step {name}", plan_key(text, [runtime.module().cpu_level(), *options])
    if role.number == 0:
        made = compile_here(level)
        gathering.share(what, _packed(key, level, made), sender=0)
        return made
    found = gathering.share(what, b"", sender=0)[0]
    _level, plans = _unpacked(key, found)
    return plans or compile_here(_level)


def check_alike(role: Role | None, name: str, facts: Mapping[str, str]) -> None:
    """Compares what this worker wants servers to hold for its first step with what worker 0 wants.

    Servers compare manifests, also of workers that come later, but cannot say what differs.

    Args:
      facts: of the step with this name: what they are of, and a text.

    Raises:
      ProcessError: for the first fact that differs; as of `compile_for_all`.
    """
    global _has_compared
    if role is None or role.workers == 1 or _has_compared:
        return
    _has_compared = True
    gathering = gathering_of(role)
    if gathering.is_late:
        return
    own = json.dumps(facts).encode() if role.number == 0 else b""
    expected = json.loads(gathering.share(f"job of step {name}", own, sender=0)[0])
    for what in {**expected, **facts}:
        if facts.get(what) != expected.get(what):
            found, wanted = facts.get(what, "not there"), expected.get(what, "none")
            raise ProcessError(
                f"worker {role.number} has another job than worker 0: {what} is {found}, expected {wanted}; "
                "do all run the same script?"
            )


def _packed(key: str, level: str, plans: Plans) -> bytes:
    """The key, the level of servers' CPUs, and the plans."""
    header = {"key": key, "level": level, "servers": list(plans.servers)}
    return packed(header, [*plans.servers.values(), plans.worker.to_bytes()])


def _unpacked(key: str, content: bytes) -> tuple[str, Plans | None]:
    """The level of servers' CPUs, and the plans if they have this key."""
    header, (*servers, worker) = unpacked(content)
    if header["key"] != key:
        return header["level"], None
    plans = dict(zip(header["servers"], servers, strict=True))
    return header["level"], Plans(plans, runtime.module().Plan.from_bytes(worker))
