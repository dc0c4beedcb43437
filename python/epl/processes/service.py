"""The process in which the coordination service of a run lives, beside the processes of the run.

It is a program of its own, so that no process of the run takes the service with it when it is killed: then
each of the others learns of it as of any other. Process 0 starts it (coordination.py) and holds its standard
input. The line "end" there ends it. The line "failed" says that the run has failed, which the others still
read; the end of the input without a line, that process 0 was lost, which they have to notice. It imports
JAX's library alone, which is quick.

    python service.py HOST PROCESSES HEARTBEAT      prints the port
"""

from __future__ import annotations

import socket
import sys
import time

from jaxlib import _jax  # type: ignore[attr-defined]

READ_SECONDS = 2.5
"""How long it stays for the others to read why the run has failed, and to end."""


def main() -> None:
    """Serves until it is told to end, or process 0 is lost."""
    host, processes, heartbeat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    service = _jax.get_distributed_runtime_service(
        f"{host}:{port}", processes, heartbeat_timeout=heartbeat, shutdown_timeout=1, recoverable=True
    )
    print(port, flush=True)
    said = sys.stdin.readline().strip()
    if said != "end":
        time.sleep(READ_SECONDS if said else heartbeat + READ_SECONDS)
    service.shutdown()


if __name__ == "__main__":
    main()
