"""One worker of `served_steps.py` in mode async, whose neighbour stands still now and then.

epl-launch --servers 2 --workers 2 stopped_worker.py ROUNDS STEPS FOLDER
    {"running": median seconds of a step of worker 0 in each round, "stopped": the same without worker 1}

Worker 1 trains beside it, and pauses longer than its step takes: both have cores enough. FOLDER is for what
they tell each other.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from served_worker import WORKER, seconds_of, step_of

import epl

WIDTHS, BATCH = (64, 128, 64), 32
PAUSE = 0.01  # of worker 1 behind each step


def train_beside(train: Callable[[], None], folder: Path) -> None:
    """Worker 1, until worker 0 has done: the time of `step` is that of its last step."""
    begun = folder / "begun"
    begun.write_text(str(os.getpid()))
    begun.rename(folder / "step")
    while not (folder / "done").exists():
        train()
        os.utime(folder / "step")
        time.sleep(PAUSE)


def await_step(step: Path) -> int:
    """Waits until worker 1 has done another step; who it is."""
    while not step.exists():
        time.sleep(PAUSE)
    before = step.stat().st_mtime_ns
    while step.stat().st_mtime_ns == before:
        time.sleep(PAUSE)
    return int(step.read_text())


def measure(train: Callable[[], None], folder: Path, rounds: int, steps: int) -> dict[str, list[float]]:
    """Worker 0: both kinds in turn."""
    found: dict[str, list[float]] = {"running": [], "stopped": []}
    for _ in range(rounds):
        other = await_step(folder / "step")
        found["running"].append(statistics.median(seconds_of(train, steps)))
        os.kill(other, signal.SIGSTOP)
        try:
            found["stopped"].append(statistics.median(seconds_of(train, steps)))
        finally:
            os.kill(other, signal.SIGCONT)
    (folder / "done").touch()
    return found


def main() -> None:
    """Measures, and prints."""
    rounds, steps, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    epl.init("cpu:1")
    random = np.random.default_rng(0)
    params: Any = [random.normal(size=shape).astype(np.float32) / 30 for shape in itertools.pairwise(WIDTHS)]
    x = random.normal(size=(BATCH, WIDTHS[0])).astype(np.float32)
    step = epl.parallelize(step_of, state="params", batch="x", strategy=epl.ParameterServer(mode="async"))

    def train() -> None:
        nonlocal params
        params, _ = step(params, x)

    train()  # which worker 0 compiles for both
    if WORKER == 1:
        train_beside(train, folder)
    else:
        print(json.dumps(measure(train, folder, rounds, steps)), flush=True)


if __name__ == "__main__":
    main()
