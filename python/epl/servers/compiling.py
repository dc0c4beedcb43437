"""The programs of a step whose parameters servers hold: the worker's plan, and those that update blocks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epl import runtime
from epl.cache import plan_cache, plan_key
from epl.compile import compile_to_folder, emit, load_or_compile
from epl.servers.strategy import ParameterServer

_LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3")


def server_level() -> str:
    """A level of CPUs that this one has, for plans of servers.

    Updates wait for memory, so that wider vectors would gain little.
    """
    level = runtime.module().cpu_level()
    return level if level in _LEVELS else _LEVELS[-1]


def server_options(level: str, devices: int = 1) -> tuple[str, ...]:
    """What servers' plans are compiled for: one device of a CPU of a level, which all servers have.

    Scopes of the step that they are a part of need as many `devices` as a worker has. Workers compile the
    same bytes so, whose hash is a part of the job's name.
    """
    return (f"--devices=cpu:{devices}", f"--cpu={level}")


WITH_TABLES = "--with-tables"
"""The compiler takes a step of which servers hold nothing else than rows of tables."""


def options_of(strategy: ParameterServer, servers: int, *, has_tables: bool) -> tuple[str, ...]:
    """What a strategy says to the compiler of how parameters are cut for so many servers."""
    whole = () if strategy.slice_up else ("--no-slice",)
    delay = ("--compensate",) if strategy.mode == "dc_asgd" else ()
    tables = (WITH_TABLES,) if has_tables else ()
    return (f"--servers={servers}", f"--min-block-size={strategy.min_block_size}", *whole, *delay, *tables)


def describe(text: str, devices: str, name: str, cut: Sequence[str], more: Sequence[str]) -> Any:
    """What workers and servers have of a step, as `epl-compile --emit=roles` says it.

    Args:
      text: the step as MLIR text.
      devices: of a worker.
      name: of the step, for errors.
      cut: `options_of`.
      more: options of how the step is parallelized.

    Raises:
      CompileError: with the user's source line, if the step cannot be dealt out.
    """
    return json.loads(emit(text, devices, name, "roles", (*more, *cut)))


def compile_worker(text: str, devices: str, name: str, more: Sequence[str], *, has_tables: bool) -> Any:
    """The plan of a worker. Arguments and errors as in `describe`."""
    tables = (WITH_TABLES,) if has_tables else ()
    return load_or_compile(text, devices, name, (*more, "--role=worker", *tables))


def compile_server(
    text: str, name: str, cut: Sequence[str], programs: Sequence[str], level: str, devices: int = 1
) -> dict[str, bytes]:
    """The plan files of programs of servers, by their names; other arguments and errors as in `describe`.

    Args:
      level: of the servers' CPUs.
      devices: how many a worker has.
    """
    options = (*server_options(level, devices), "--role=server", *cut)
    cache = plan_cache()
    keys = {program: plan_key(text, [*options, f"--program={program}"]) for program in programs}
    found = {program: cache.load(key, bytes) for program, key in keys.items()} if cache else {}
    if all(found.get(program) is not None for program in programs):
        return found
    with tempfile.TemporaryDirectory(prefix="epl-") as folder:
        compile_to_folder(text, options, name, Path(folder))
        made = {program: (Path(folder) / f"{program}.eplan").read_bytes() for program in programs}
    for program, key in keys.items() if cache else ():
        assert cache is not None
        cache.store(key, made[program])
    return made
