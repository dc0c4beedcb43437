"""Training steps of EPL and of JAX, interleaved: each pair of engines runs in turn, round by round.

Machines are noisy and their speed drifts, so that only ratios of neighbours in time are worth something: for
each comparison the ratio is taken round by round; the table shows its median and its spread.
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import MODELS

WORKER = Path(__file__).parent / "worker.py"


class Worker:
    """A process that runs steps of one engine when told."""

    def __init__(self, engine: str, devices: int, model: str) -> None:
        command = [sys.executable, str(WORKER), engine, str(devices), model]
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


@dataclass(frozen=True)
class Row:
    """Ours beside a peer: seconds of each round."""

    model: str
    what: str
    ours: list[float]
    peer: list[float]

    def ratios(self) -> list[float]:
        """Ours over the peer, round by round."""
        return [a / b for a, b in zip(self.ours, self.peer, strict=True)]

    def __str__(self) -> str:
        ratios = self.ratios()
        return (
            f"{self.model:<38} {self.what:<34} {1e3 * statistics.median(self.ours):9.3f} "
            f"{1e3 * statistics.median(self.peer):9.3f}   {statistics.median(ratios):5.2f}  "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


COMPARISONS = [
    ("cpu:1 / jax.jit, one core", ("epl", 1), ("jax", 1)),
    ("cpu:2 / cpu:1", ("epl", 2), ("epl", 1)),
    ("cpu:2 / jax on 2 host devices", ("epl", 2), ("jax", 2)),
]


def measure(model: str, rounds: int, seconds: float) -> list[Row]:
    """Every comparison for one model. `seconds` is about how long one engine runs in one round."""
    engines = [("epl", 1), ("jax", 1), ("epl", 2), ("jax", 2)]
    workers = {engine: Worker(*engine, model) for engine in engines}
    steps = {e: max(1, int(seconds / w.seconds_per_step(3))) for e, w in workers.items()}
    times: dict[Any, list[float]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine, worker in workers.items():
            times[engine].append(worker.seconds_per_step(steps[engine]))
    ours, xla = workers["epl", 1].compile, workers["jax", 1].compile
    rows = [Row(model, what, times[a], times[b]) for what, a, b in COMPARISONS]
    rows.append(Row(model, "compile, cold / XLA", [ours["compile"]], [xla["compile"]]))
    rows.append(Row(model, "compile again / XLA", [ours["cached"]], [xla["compile"]]))
    for worker in workers.values():
        worker.close()
    return rows


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each comparison (default 7)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one engine in one round (default 0.5)")
    parser.add_argument("--only", default="", help="only models whose name contains this")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    args = parser.parse_args()
    print(f"{'model':<38} {'ours / peer':<34} {'ours ms':>9} {'peer ms':>9}   ratio  (spread)")
    rows = []
    for model in MODELS:
        if args.only in model:
            for row in measure(model, args.rounds, args.seconds):
                rows.append(row)
                print(row, flush=True)
    if args.json:
        args.json.write_text(json.dumps([vars(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
