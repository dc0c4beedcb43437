"""Training steps of EPL and of JAX: their speed, their compile time, their memory."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from effort import Effort
from native import PROGRAMS, lines
from table import Row

WORKER = Path(__file__).parent / "worker.py"

Engine = tuple[str, int]

# Ours, the peer, and the goal of each model that has one.
COMPARISONS: list[tuple[str, Engine, Engine, dict[str, float]]] = [
    ("cpu:1 / jax.jit on a core", ("epl", 1), ("jax", 1), {"digits": 0.8, "MLP 1024": 0.9, "MLP 2048": 0.9}),
    ("cpu:2 / cpu:1", ("epl", 2), ("epl", 1), {"MLP 2048": 0.54}),
    ("cpu:2 / jax on 2 host devices", ("epl", 2), ("jax", 2), {"MLP 1024": 0.6, "MLP 2048": 0.6}),
]


class Worker:
    """A process that compiles a step with one engine and runs it when told."""

    def __init__(self, engine: Engine, model: str, *arguments: str) -> None:
        command = [sys.executable, str(WORKER), engine[0], str(engine[1]), model, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.compile = self.read()

    def read(self) -> Any:
        """The next line that the worker prints, skipping what libraries print."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"worker ended with status {self.process.wait()}")

    def seconds_per_step(self, steps: int) -> float:
        """Run `steps` steps and return the mean."""
        assert self.process.stdin
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self.read()["seconds"]) / steps

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def speed(effort: Effort, model: str) -> Iterator[Row]:
    """Every comparison of a model, all engines in turn."""
    engines = sorted({engine for _, ours, peer, _ in COMPARISONS for engine in (ours, peer)})
    workers = {engine: Worker(engine, model) for engine in engines}
    steps = {e: max(1, int(effort.seconds / w.seconds_per_step(3))) for e, w in workers.items()}
    times: dict[Engine, list[float]] = {engine: [] for engine in engines}
    for _ in range(effort.rounds):
        for engine, worker in workers.items():
            times[engine].append(worker.seconds_per_step(steps[engine]))
    for worker in workers.values():
        worker.close()
    for what, ours, peer, goals in COMPARISONS:
        yield Row(f"step of {model}, {what}", times[ours], times[peer], goals.get(model))


def compile_time(effort: Effort, model: str) -> Iterator[Row]:
    """From the traced function to the loaded plan, in fresh processes."""
    cold, cached, xla = [], [], []
    for _ in range(min(3, effort.rounds)):
        for engine in (("epl", 1), ("jax", 1)):
            worker = Worker(engine, model)
            worker.close()
            if engine[0] == "jax":
                xla.append(worker.compile["compile"])
            else:
                cold.append(worker.compile["compile"])
                cached.append(worker.compile["cached"])
    yield Row(f"compile {model}, cold / XLA", cold, xla, goal=1.0)
    yield Row(f"compile {model}, cached / XLA", cached, xla, goal=0.5)


def memory(effort: Effort, model: str) -> Iterator[Row]:
    """The arena of a plan beside the bytes that are live at once in any layout."""
    for devices in (1, 2):
        with tempfile.NamedTemporaryFile(suffix=".eplan") as plan:
            Worker(("epl", devices), model, plan.name).close()
            found = lines(str(PROGRAMS / "live_bytes"), plan.name)[0]
        arena, bound = [float(found["arena"])], [float(found["bound"])]
        yield Row(f"arena of {model}, cpu:{devices} / live bytes", arena, bound, goal=1.05, unit="B")
