"""A step of two workers and two servers, beside their plans alone and the bytes that they exchange.

And one in mode async whose other worker stands still, beside one whose other worker runs.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from effort import Effort
from native import MIB, bare_exchanges, environment
from programs import BUILD, ROOT
from table import Row

SERVERS = WORKERS = 2
BYTES = 4 * MIB  # of the parameters, and of their gradients
LAUNCHER = ROOT / "python/epl/launcher"


def served_steps(effort: Effort) -> Iterator[Row]:
    """Processes are started anew in each round.

    Both plans run at once, as in training; the bytes of both workers share the loopback.
    """
    ours, peer = [], []
    bare = bare_exchanges(16 * MIB, effort)
    if not bare:
        return
    # A bare exchange moves 64 MiB there and as many back.
    moved = statistics.median(bare) * WORKERS * BYTES / (64 * MIB)
    for _ in range(effort.rounds):
        found = _train("served_worker.py", "5" if effort.quick else "30")
        ours.append(statistics.median(found["steps"]))
        peer.append(statistics.median(found["plan"]) + moved)
    what = "sync step of 2 workers and 2 servers, 4 MiB"
    yield Row(f"{what} / plans alone and bytes of bare gRPC", ours, peer, goal=1.3)


def stopped_worker(effort: Effort) -> Iterator[Row]:
    """In mode async, where nobody waits for another worker: that one is stopped by a signal, and goes on."""
    found = _train("stopped_worker.py", str(effort.rounds), "5" if effort.quick else "100")
    what = "async step of a worker, the other one stopped / running"
    yield Row(what, found["stopped"], found["running"], goal=1.1)


def _train(script: str, *arguments: str) -> dict[str, list[float]]:
    """What a worker prints; behind its arguments it gets a folder."""
    path = os.pathsep.join([str(ROOT / "python"), str(BUILD / "python")])
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(LAUNCHER), "--servers", str(SERVERS), "--workers", str(WORKERS)]
        done = subprocess.run(
            [*command, str(Path(__file__).parent / script), *arguments, folder],
            env=environment(PYTHONPATH=path),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    (line,) = (line for line in done.stdout.splitlines() if '{"' in line)
    found: dict[str, list[float]] = json.loads(line[line.index("{") :])
    return found
