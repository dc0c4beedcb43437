"""What checkpoints cost: beside a copy of the state, and beside orbax with `jax.Array`s so sharded.

Rows, one JSON object a line. "taken from training": the call of a save, and how much longer a step takes
that must copy, beside a plain copy of what the devices have, by as many threads and into memory that is
there. Both parts have rows of their own. The first save of a run has a step copy into new memory, later ones
into memory that the save before has read: the first one has a row of one figure. Steps beside the threads
that write compete with them for cores and memory, and have rows of their own: where cores are spare, they do
not. Then what a save takes until all is on disk, and a restore into the layout of the step. Rounds are
interleaved. State on four devices, split by ZeRO v3.

    python checkpoints.py [--rounds N] [--megabytes M]
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

import epl
from epl.checkpoints.own_parts import own_parts
from epl.checkpoints.parts import slices

DEVICES = 4
ARRAYS = 8
TRIPLES = 5  # of a round, whose medians count: files of the rounds before are still being written to disk


def seconds(action: Callable[[], Any]) -> float:
    """How long something takes."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


class Training:
    """Steps of a state of so many bytes, and the same state as JAX's arrays."""

    def __init__(self, size: int) -> None:
        width = 1024
        rows = max(DEVICES, size // ARRAYS // width // 4 // DEVICES * DEVICES)
        random = np.random.default_rng(0)
        first = {f"w{i}": random.normal(size=(rows, width)).astype(np.float32) for i in range(ARRAYS)}
        config = {"zero.level": "v3"}
        self.step = epl.parallelize(
            _train_step, state="params", batch="x", devices=DEVICES, config=config, name="train"
        )
        self.x = random.normal(size=(8, width)).astype(np.float32)
        self.layout = epl.layout_of(self.step.lower(first, self.x), first)
        self.params = self.step(first, self.x)
        self.copies = [np.ones_like(value) for value in first.values()]
        self.threads = ThreadPoolExecutor(min(DEVICES, len(os.sched_getaffinity(0))))
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
        self.sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        self.peer = {name: jax.device_put(value, self.sharding) for name, value in first.items()}

    def run(self) -> None:
        """A step."""
        self.params = jax.block_until_ready(self.step(self.params, self.x))

    def copy(self) -> None:
        """A copy of all that the devices have, into memory that is there."""
        pairs = [
            (target[slices(box)], data)
            for array, target in zip(self.params.values(), self.copies, strict=True)
            for box, data in own_parts(array)
        ]
        list(self.threads.map(lambda pair: np.copyto(*pair), pairs))

    def like(self) -> dict[str, jax.ShapeDtypeStruct]:
        """What orbax restores JAX's arrays into."""
        return {
            name: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=self.sharding)
            for name, array in self.peer.items()
        }


def _train_step(params: Any, x: Any) -> Any:
    with epl.replicate():
        return jax.tree.map(lambda w: w * 0.999 + x[0, 0] * 1e-9, params)


class Round:
    """The seconds of one round, by what they were taken of."""

    def __init__(self, number: int, training: Training, ours: epl.Checkpoints, orbax: Any) -> None:
        self.number, self.training, self.ours, self.orbax = number, training, ours, orbax
        training.run()
        copies, alone, copying = zip(*(self._copies() for _ in range(TRIPLES)), strict=True)
        self.copy, self.alone = statistics.median(copies), statistics.median(alone)
        self.copying = statistics.median(copying) - self.alone
        self.first = copying[0] - self.alone  # into new memory in the first round
        self.call = seconds(lambda: ours.save(2 * number, training.params))
        self.next = seconds(training.run)
        self.later = self._steps_until_saved() or self.next
        self.taken = self.call + self.copying
        self.save, self.orbax_save = seconds(self._save), seconds(self._orbax_save)
        self.restore, self.orbax_restore = seconds(self._restore), seconds(self._orbax_restore)

    def _copies(self) -> tuple[float, float, float]:
        """A plain copy, a step, and a step that must copy."""
        copy, alone = seconds(self.training.copy), seconds(self.training.run)
        snapshots = [array.snapshot() for array in self.training.params.values()]
        copying = seconds(self.training.run)
        del snapshots
        return copy, alone, copying

    def _steps_until_saved(self) -> float:
        """What a step takes while the save is written; 0 if it is written already."""
        waiting = threading.Thread(target=self.ours.wait)
        waiting.start()
        found = []
        while waiting.is_alive():
            found.append(seconds(self.training.run))
        waiting.join()
        return statistics.median(found) if found else 0.0

    def _save(self) -> None:
        self.ours.save(2 * self.number + 1, self.training.params)
        self.ours.wait()

    def _orbax_save(self) -> None:
        self.orbax.save(self.number, args=ocp.args.StandardSave(self.training.peer))
        self.orbax.wait_until_finished()

    def _restore(self) -> None:
        jax.block_until_ready(self.ours.restore(self.training.layout))

    def _orbax_restore(self) -> None:
        args = ocp.args.StandardRestore(self.training.like())
        jax.block_until_ready(self.orbax.restore(self.number, args=args))


def measure(rounds: int, size: int, folder: Path) -> list[dict[str, Any]]:
    """The rows, as `table.Row` takes them."""
    training = Training(size)
    options = ocp.CheckpointManagerOptions(max_to_keep=1)
    with (
        epl.Checkpoints(folder / "epl", keep=1) as ours,
        ocp.CheckpointManager(folder / "orbax", options=options) as orbax,
    ):
        first, *kept = [Round(number, training, ours, orbax) for number in range(rounds + 1)]

    def row(about: str, name: str, peer: str, goal: float | None = None, of: Any = kept) -> dict[str, Any]:
        figures = [[getattr(one, each) for one in of] for each in (name, peer)]
        what = f"checkpoint of {size >> 20} MiB: {about}"
        return {"what": what, "ours": figures[0], "peer": figures[1], "goal": goal}

    return [
        row("taken from training / copy", "taken", "copy", 1.2),
        row("the call of save / copy", "call", "copy"),
        row("the copy in the next step / copy", "copying", "copy"),
        row("that of the first save / copy", "first", "copy", of=[first]),
        row("the next step beside the writing / alone", "next", "alone"),
        row("a later step beside the writing / alone", "later", "alone"),
        row("save / orbax", "save", "orbax_save", 1.1),
        row("restore / orbax", "restore", "orbax_restore", 1.1),
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=1024)
    args = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", DEVICES)
    folder = Path(tempfile.mkdtemp())
    try:
        for row in measure(args.rounds, args.megabytes << 20, folder):
            print(json.dumps(row))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
