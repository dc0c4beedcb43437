"""Several processes beside threads of one, beside MPI's own collectives, and their start.

A program is started anew in each round, since processes that wait take cores from their peers.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from effort import Effort
from native import PROGRAMS, SIZES, environment, lines
from programs import BUILD, ROOT
from table import Row

WORKER = Path(__file__).parent / "process_worker.py"


def processes(effort: Effort) -> Iterator[Row]:
    """All-reduces, a step, and the start."""
    if shutil.which("mpirun") is None or not (PROGRAMS / "messages").exists():
        return
    for size in ("1 MiB", "64 MiB"):
        yield from _all_reduce(effort, size)
    with tempfile.TemporaryDirectory() as plans:
        yield from _step(effort, plans)
        yield from _start(effort, plans)


def _mpirun(count: int) -> list[str]:
    return ["mpirun", "-n", str(count), "--oversubscribe", "--bind-to", "none"]


def _all_reduce(effort: Effort, size: str) -> Iterator[Row]:
    """Between one device each, one behind the other, as the programs of threads and of MPI have it."""
    # As many in a step that its start and end do not count, and rounds of a run.
    bytes_, count, runs = SIZES[size], {"1 MiB": "16", "64 MiB": "1"}[size], "1" if effort.quick else "7"
    found: dict[str, list[float]] = {"ours": [], "threads": [], "MPI": []}
    for _ in range(effort.rounds):
        alone = lines(*_mpirun(2), str(PROGRAMS / "messages"), runs, str(bytes_), count)
        found["ours"].append(statistics.median(alone[0]["seconds"]["each"]))
        arguments = ["all_reduce", str(bytes_), "1", runs]
        threads = lines(str(PROGRAMS / "collective"), *arguments)
        found["threads"].append(statistics.median(threads[0]["seconds"]["ours"]))
        peer = lines(*_mpirun(2), str(PROGRAMS / "collective_mpi"), *arguments)
        found["MPI"].append(statistics.median(peer[0]["seconds"]["Open MPI"]))
    what = f"all-reduce of {size}, two processes"
    yield Row(f"{what} / two threads", found["ours"], found["threads"], goal=1.6)
    yield Row(f"{what} / MPI_Allreduce", found["ours"], found["MPI"], goal=0.7)


def _worker(count: int, devices: int, steps: int, plans: str) -> tuple[float, list[float]]:
    """When a run begins until its first step has ended, and the seconds of each step after it."""
    (found,) = _workers(1, count, devices, steps, plans)
    return found


def _workers(runs: int, count: int, devices: int, steps: int, plans: str) -> list[tuple[float, list[float]]]:
    """The same of several runs at once, which know nothing of one another."""
    path = os.pathsep.join([str(ROOT / "python"), str(BUILD / "python")])
    variables = environment(EPL_CACHE_DIR=plans, PYTHONPATH=path)
    command = [*(_mpirun(count) if count > 1 else []), sys.executable, str(WORKER), str(devices), str(steps)]
    begin = time.time()
    children = [
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(runs)
    ]
    found: list[dict[str, Any]] = [
        json.loads(child.communicate()[0].strip().splitlines()[-1]) for child in children
    ]
    return [(each["begun"] - begin, each["steps"]) for each in found]


def _step(effort: Effort, plans: str) -> Iterator[Row]:
    """Of an MLP of 67 MB, data parallel: two processes of one device each beside one of two."""
    steps = 2 if effort.quick else 15
    _worker(1, 2, 1, plans)  # compiles
    ours, threads = [], []
    for _ in range(effort.rounds):
        ours.append(statistics.median(_worker(2, 2, steps, plans)[1]))
        threads.append(statistics.median(_worker(1, 2, steps, plans)[1]))
    yield Row("step of an MLP of 67 MB, two processes / one of two devices", ours, threads, goal=1.15)


def _start(effort: Effort, plans: str) -> Iterator[Row]:
    """From the start of four processes to the end of the first step, whose plan is there."""
    four: list[float] = []
    one: list[float] = []
    alone: list[float] = []
    _worker(1, 4, 1, plans)
    for _ in range(effort.rounds):
        four.append(_worker(4, 4, 1, plans)[0])
        one.append(_worker(1, 4, 1, plans)[0])
        alone.append(max(begun for begun, _ in _workers(4, 1, 4, 1, plans)))
    yield Row("start of four processes, plan compiled before / one", four, one, goal=1.5)
    yield Row("start of four processes, plan compiled before / four runs at once", four, alone)
