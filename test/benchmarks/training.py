"""Training steps of EPL, of JAX and of PyTorch: their speed, their compile time, their memory."""

import functools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from effort import Effort
from native import PROGRAMS, lines
from table import Row

from models import NARROW

WORKER = Path(__file__).parent / "worker.py"
TORCH_PEER = Path(__file__).parent / "torch_peer.py"
# A Python with torch and numpy, as PyTorch would pull another numpy into the project's own environment.
TORCH_PYTHON = os.environ.get("EPL_TORCH_PYTHON", sys.executable)

CACHES = ("EPL_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
JAX_CACHES_ALL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}

Engine = tuple[str, int]

# Ours, the peer, and the goal of each model that has one.
COMPARISONS: list[tuple[str, Engine, Engine, dict[str, float]]] = [
    (
        "cpu:1 / jax.jit on a core",
        ("epl", 1),
        ("jax", 1),
        {"digits": 0.8, "MLP 1024": 0.9, "MLP 2048": 0.9, "CNN": 1.0, "strided CNN": 1.0, "GPT": 0.6}
        | dict.fromkeys(NARROW, 0.9),
    ),
    ("cpu:2 / cpu:1", ("epl", 2), ("epl", 1), {"MLP 2048": 0.54}),
    ("cpu:2 / jax on 2 host devices", ("epl", 2), ("jax", 2), {"MLP 1024": 0.6, "MLP 2048": 0.6, "GPT": 0.6}),
]
TORCH_COMPARISONS: list[tuple[str, Engine, Engine, dict[str, float]]] = [
    ("cpu:1 / PyTorch on a core", ("epl", 1), ("torch", 1), {}),
    ("cpu:2 / PyTorch, two processes with gloo", ("epl", 2), ("torch", 2), {"GPT": 0.6}),
]

# Of the losses of the first steps: engines that differ by more run different programs.
LOSS_TOLERANCE = 1e-4
LOSS_TOLERANCE_NARROW = (
    1e-2  # bf16 is rounded after each operation by one engine, after a kernel by the other
)


class Worker:
    """A process that compiles a step with one engine and runs it when told."""

    def __init__(self, engine: Engine, model: str, *arguments: str, cache: str = "") -> None:
        """`cache`: folder of the engine's cache of compiled steps; without it nothing is cached."""
        command = [sys.executable, str(WORKER), engine[0], str(engine[1]), model, *arguments]
        if engine[0] == "torch":
            command = [TORCH_PYTHON, str(TORCH_PEER), str(engine[1])]
        environment = {**os.environ, **dict.fromkeys(CACHES, cache), **JAX_CACHES_ALL}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)
        ready = self.read()
        self.compile, self.losses = float(ready["compile"]), [float(loss) for loss in ready["losses"]]

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


@functools.cache
def has_torch() -> bool:
    """Whether PyTorch is there; says so if it is not."""
    found = subprocess.run([TORCH_PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0
    if not found:
        print("PyTorch is missing: EPL_TORCH_PYTHON=a Python with torch and numpy", file=sys.stderr)
    return found


def require_equal_losses(workers: dict[Engine, Worker], model: str) -> None:
    """Peers are peers if they compute the same."""
    expected = next(iter(workers.values())).losses
    is_narrow = model in NARROW or any(engine == "epl-amp" for engine, _ in workers)
    tolerance = LOSS_TOLERANCE_NARROW if is_narrow else LOSS_TOLERANCE
    for engine, worker in workers.items():
        pairs = zip(worker.losses, expected, strict=True)
        if not all(math.isclose(found, loss, rel_tol=tolerance) for found, loss in pairs):
            raise RuntimeError(f"losses of {model} on {engine} are {worker.losses}, expected {expected}")


def take_turns(effort: Effort, workers: dict[Engine, Worker]) -> dict[Engine, list[float]]:
    """Seconds a step of each engine in each round; ends the workers."""
    steps = {e: max(1, int(effort.seconds / w.seconds_per_step(3))) for e, w in workers.items()}
    times: dict[Engine, list[float]] = {engine: [] for engine in workers}
    for _ in range(effort.rounds):
        for engine, worker in workers.items():
            times[engine].append(worker.seconds_per_step(steps[engine]))
    for worker in workers.values():
        worker.close()
    return times


def speed(effort: Effort, model: str) -> Iterator[Row]:
    """Every comparison of a model, all engines in turn."""
    comparisons = COMPARISONS + (TORCH_COMPARISONS if model == "GPT" and has_torch() else [])
    engines = sorted({engine for _, ours, peer, _ in comparisons for engine in (ours, peer)})
    workers = {engine: Worker(engine, model) for engine in engines}
    require_equal_losses(workers, model)
    times = take_turns(effort, workers)
    for what, ours, peer, goals in comparisons:
        yield Row(f"step of {model}, {what}", times[ours], times[peer], goals.get(model))


def split_speed(effort: Effort) -> Iterator[Row]:
    """A GPT split over two devices, beside JAX with the shardings that EPL chose."""
    ours, peer = ("epl-split", 2), ("jax-split", 2)
    workers = {engine: Worker(engine, "GPT") for engine in (ours, peer)}
    require_equal_losses(workers, "GPT")
    times = take_turns(effort, workers)
    yield Row("step of GPT, split over cpu:2 / JAX, shardings as ours", times[ours], times[peer], 0.7)


def accumulation(effort: Effort) -> Iterator[Row]:
    """A step in micro-batches, beside the same step of the whole batch."""
    whole, parts = ("epl", 1), ("epl-micro", 1)
    for model in ("MLP 2048", "transformer"):
        workers = {engine: Worker(engine, model) for engine in (whole, parts)}
        require_equal_losses(workers, model)
        times = take_turns(effort, workers)
        yield Row(f"step of {model} in 4 micro-batches / whole", times[parts], times[whole], 1.05)


def mixed_precision(effort: Effort) -> Iterator[Row]:
    """A step of f32 in mixed precision (`amp.level`), beside the same step as it is."""
    plain, mixed = ("epl", 1), ("epl-amp", 1)
    for model in ("MLP 2048", "transformer", "CNN"):
        workers = {engine: Worker(engine, model) for engine in (plain, mixed)}
        require_equal_losses(workers, model)
        times = take_turns(effort, workers)
        yield Row(f"step of {model}, amp o1 / f32", times[mixed], times[plain])


def compile_time(effort: Effort, model: str) -> Iterator[Row]:
    """From the Python function to what can be called, each time in a fresh process (see worker.py)."""
    cold, cached, xla, xla_cached = [], [], [], []
    with tempfile.TemporaryDirectory() as filled:
        compile_in(filled, "epl", model)
        compile_in(filled, "jax", model)
        entries = list(Path(filled).iterdir())
        for _ in range(min(3, effort.rounds)):
            with tempfile.TemporaryDirectory() as empty:
                cold.append(compile_in(empty, "epl", model))
            cached.append(compile_in(filled, "epl", model))
            xla.append(compile_in("", "jax", model))
            xla_cached.append(compile_in(filled, "jax", model))
        if sorted(Path(filled).iterdir()) != sorted(entries):
            raise RuntimeError("a compilation that should have been found in the cache was not")
    yield Row(f"compile {model}, cold / XLA", cold, xla, goal=1.0)
    yield Row(f"compile {model}, cached / XLA", cached, xla, goal=0.5)
    yield Row(f"compile {model}, cached / XLA, cached", cached, xla_cached)


def compile_in(cache: str, engine: str, model: str) -> float:
    """Seconds that an engine takes to compile a model for one device, with such a cache."""
    worker = Worker((engine, 1), model, cache=cache)
    worker.close()
    return worker.compile


def memory(effort: Effort, model: str) -> Iterator[Row]:
    """The arena of a plan beside the bytes that are live at once in any layout."""
    for devices in (1, 2):
        with tempfile.NamedTemporaryFile(suffix=".eplan") as plan:
            Worker(("epl", devices), model, plan.name).close()
            found = lines(str(PROGRAMS / "live_bytes"), plan.name)[0]
        arena, bound = [float(found["arena"])], [float(found["bound"])]
        yield Row(f"arena of {model}, cpu:{devices} / live bytes", arena, bound, goal=1.05, unit="B")
