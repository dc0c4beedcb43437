"""Train on handwritten digits in any number of processes, and go on from where the last run ended.

Every process reads its rows of every global batch, and hands them to the step by `epl.from_local`. Which
samples a global batch has depends on the seed and on its number alone, so the number of the next one is all
that must be kept of the input, and it is right for any number of processes. Here it is the number of the
checkpoint. Run it, end it, and run it again:

    python examples/resume.py --folder /tmp/digits [--devices cpu:2] [--steps 100] [--every 20]
    epl-launch -n 2 examples/resume.py --folder /tmp/digits
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

import jax
import numpy as np
from digits import initial_state, load_data, train_step

import epl

BATCH = 128


class GlobalBatches:
    """This process's rows of the global batches 0, 1, 2, ..., without an end.

    Every epoch has each sample once, in an order that its number and the seed say; what is too little for a
    batch is left out. The state is the number of the next global batch.
    """

    def __init__(self, data: Any, batch_size: int = BATCH, seed: int = 0) -> None:
        self._data = data
        self._seed = seed
        self._own = epl.local_slice(batch_size)
        self._size = batch_size
        self._next = 0

    def __iter__(self) -> "GlobalBatches":
        return self

    def __next__(self) -> Any:
        samples = len(self._data[0])
        epoch, index = divmod(self._next, samples // self._size)
        order = np.random.default_rng((self._seed, epoch)).permutation(samples)
        rows = order[index * self._size :][self._own]
        self._next += 1
        return tuple(array[rows] for array in self._data)

    def get_state(self) -> int:
        return self._next

    def set_state(self, state: int) -> None:
        self._next = state


def train(folder: Path, devices: str, steps: int, every: int) -> None:
    """Trains up to global batch `steps`, saves after each `every`, and begins behind the last one saved."""
    epl.init(devices)  # several processes find one another, before JAX is used
    step = epl.parallelize(train_step, state=("params", "opt_state"), batch=("x", "y"))
    data, state = load_data()[0], initial_state()
    batch = [jax.ShapeDtypeStruct((BATCH, *array.shape[1:]), array.dtype) for array in data]
    lowered = step.lower(*state, *batch)  # for whole batches, of which each process has a part
    batches = epl.prefetch(GlobalBatches(data))
    with epl.Checkpoints(folder, keep=3) as checkpoints:
        if checkpoints.latest is not None:
            state = checkpoints.restore(epl.layout_of(lowered, tuple(state)))
            batches.set_state(checkpoints.latest)
        say(f"begins with global batch {batches.get_state()}")
        for own in itertools.islice(batches, max(0, steps - batches.get_state())):
            *state, loss = step(*state, *epl.from_local(own))
            count = batches.get_state()
            if count % every == 0 or count == steps:
                checkpoints.save(count, tuple(state))
                say(f"batch {count}: loss {float(loss):.6f}")


def say(text: str) -> None:
    """Prints what all processes know: one of them does."""
    if jax.process_index() == 0:
        print(text, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoints are")
    parser.add_argument("--devices", default="cpu:2", help="the devices to train on (default cpu:2)")
    parser.add_argument("--steps", type=int, default=100, help="up to which global batch (default 100)")
    parser.add_argument("--every", type=int, default=20, help="batches between two checkpoints (default 20)")
    args = parser.parse_args()
    train(args.folder, args.devices, args.steps, args.every)


if __name__ == "__main__":
    main()
