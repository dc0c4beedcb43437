"""What a process does that is a parameter server."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import NoReturn

from epl import runtime
from epl.errors import ConfigError
from epl.servers.roles import Role

_MOVING = ("FLAGS_rpc_send_thread_num", "FLAGS_rpc_get_thread_num")
_FETCHING = "FLAGS_rpc_prefetch_thread_num"
_MOST_THREADS = 1024  # of epl-server


def serve(role: Role) -> NoReturn:
    """Becomes the program `epl-server`.

    Fluid's variables bound its threads: `FLAGS_rpc_send_thread_num` and `FLAGS_rpc_get_thread_num` those that
    move frames (the larger one, as the same threads send and receive), `FLAGS_rpc_prefetch_thread_num` those
    that have blocks and rows of tables, which they look up and update: not more than there are cores.

    Raises:
      Error: if this installation has none.
      ConfigError: if one of these variables is no number of threads.
    """
    program = runtime.program("epl-server")
    sys.stdout.flush()
    sys.stderr.flush()
    command = [str(program), "--listen", role.address, "--number", str(role.number)]
    os.execv(program, [*command, *thread_options(os.environ)])


def thread_options(environ: Mapping[str, str]) -> list[str]:
    """What Fluid's variables say to `epl-server` of threads; errors as of `serve`."""
    found = {name: _threads(name, environ[name]) for name in (*_MOVING, _FETCHING) if environ.get(name)}
    moving = [found[name] for name in _MOVING if name in found]
    options = ["--stream-threads", str(max(moving))] if moving else []
    if _FETCHING in found:
        options += ["--threads", str(min(found[_FETCHING], len(os.sched_getaffinity(0))))]
    return options


def _threads(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= _MOST_THREADS:
        raise ConfigError(
            f'{name} in the environment must be an integer of 1 to {_MOST_THREADS}, found "{text}"'
        )
    return int(text)
