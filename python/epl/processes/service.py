"""The process in which the coordination service of a run lives, beside the processes of the run.

It is a program of its own, so that no process of the run takes the service with it when it is killed: then
each of the others learns of it as of any other. Process 0 starts it (coordination.py) and holds its standard
input. A line there ends it; the end of the input without one means that process 0 was lost, and it stays as
long as the others need to learn of that. It imports JAX's library alone, which is quick.

    python service.py HOST PROCESSES HEARTBEAT      prints the port
"""

from __future__ import annotations

import socket
import sys
import time

from jaxlib import _jax  # type: ignore[attr-defined]

STAY_SECONDS = 3.0
"""How much longer than a heartbeat it stays when process 0 is lost."""


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
    if not sys.stdin.readline():
        time.sleep(heartbeat + STAY_SECONDS)
    service.shutdown()


if __name__ == "__main__":
    main()
