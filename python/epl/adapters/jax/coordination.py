"""JAX's coordination service: a store of keys, and who lives, for a run of several processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax._src import distributed, xla_bridge
from jax._src.lib import _jax

from epl.errors import Error

HEARTBEAT = 3
"""Seconds without a sign of life after which a process counts as lost."""

_CONNECT_SECONDS = 60
_END_SECONDS = 2

VERSION = jax.__version__


class Service:
    """The service, in a process of its own (processes/service.py)."""

    def __init__(self, host: str, processes: int) -> None:
        """Starts it on `host`, of this machine."""
        program = Path(__file__).parents[2] / "processes" / "service.py"
        with tempfile.TemporaryFile("w+") as errors:
            self._child = subprocess.Popen(
                [sys.executable, "-P", str(program), host, str(processes), str(HEARTBEAT)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is for the run
            )
            assert self._child.stdout is not None
            said = self._child.stdout.readline()
            if not said.strip().isdigit():
                code = self._child.wait()
                errors.seek(0)
                why = (errors.read().splitlines() or ["it says nothing"])[-1]
                raise Error(f"JAX's coordination service does not start on {host} (exit code {code}): {why}")
        self.port = int(said)

    def fail(self) -> None:
        """Has it end a moment later, when the others have read why the run has failed."""
        with contextlib.suppress(OSError):
            assert self._child.stdin is not None
            self._child.stdin.write("failed\n")
            self._child.stdin.flush()

    def end(self) -> None:
        """Ends it, when no process needs it any more."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._child.communicate("end\n", timeout=_END_SECONDS)


class Client:
    """A connection to the service. Its calls raise `ConnectionError` if the service does not answer."""

    def __init__(self, address: str, process: int) -> None:
        """Connects, as one of the processes of the run."""
        self.connection = _jax.get_distributed_runtime_client(
            address,
            process,
            init_timeout=_CONNECT_SECONDS,
            shutdown_timeout=_END_SECONDS,
            heartbeat_timeout=HEARTBEAT,
            shutdown_on_destruction=False,
        )
        self.connection.connect()

    def live(self, processes: int) -> set[int]:
        """Those of the processes that have given a sign of life lately."""
        return set(self._asked(self.connection.get_live_nodes, list(range(processes))))

    def put(self, key: str, value: str, *, replace: bool = False) -> None:
        """Stores a value, once for each key, unless it is to replace another one."""
        self._asked(self.connection.key_value_set, key, value, replace)

    def found(self, folder: str) -> dict[str, str]:
        """All that is stored below a folder, by key."""
        return dict(self._asked(self.connection.key_value_dir_get, folder))

    def close(self) -> None:
        """Leaves, before the service ends."""
        with contextlib.suppress(ConnectionError):
            self._asked(self.connection.shutdown)

    def _asked(self, ask: Callable[..., Any], *args: Any) -> Any:
        try:
            return ask(*args)
        except jax.errors.JaxRuntimeError as error:
            raise ConnectionError(str(error)) from None


def can_tell_jax() -> bool:
    """Whether JAX may still become one of several processes: nothing has used it, or told it."""
    return not xla_bridge.backends_are_initialized() and distributed.global_state.client is None


def tell_jax(client: Client, process: int, processes: int, own_devices: int) -> None:
    """Makes JAX one of several processes, with a CPU device for each of EPL's own here; called by all."""
    state = distributed.global_state
    jax.config.update("jax_num_cpu_devices", own_devices)
    state.client = client.connection
    state.process_id, state.num_processes = process, processes
    jax.devices("cpu")  # now, when all do: the first use of JAX waits for all processes


def jax_knows(process: int, processes: int, own_devices: int) -> bool:
    """Whether JAX has the run's processes, and the devices of each; the program may have told it."""
    return (jax.process_index(), jax.process_count(), len(jax.local_devices(backend="cpu"))) == (
        process,
        processes,
        own_devices,
    )
