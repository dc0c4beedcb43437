"""Trains without end, for tests that end one of its processes; says its process id.

mpirun -n 2 python endless.py       environment: DEVICES=cpu:4: where
                                    FAIL=raise|exit VICTIM=1 AFTER=2.5: how, who, and when
                                    SAVES=folder: saves again and again, so that the end is in a save
                                    FAIL=resume: restores what is there, and looks whether it is the same
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl

epl.init(devices=os.environ.get("DEVICES", "cpu:4"))

STEPS = 20  # from one save to the next
PROCESS = os.environ["OMPI_COMM_WORLD_RANK"]


@epl.parallelize(state="params", batch=("x", "y"))
def train(params, x, y):  # type: ignore[no-untyped-def]
    """A step of gradient descent."""

    def loss(params):  # type: ignore[no-untyped-def]
        with epl.replicate():
            return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def fail(how: str) -> None:
    """Ends this process."""
    if how == "raise":
        raise ValueError("no such file: x")
    if how == "exit":
        sys.exit(0)
    if how == "vanish":
        os._exit(3)


class Saves:
    """Checkpoints in a folder, with the digest of each, and the numbers of those that were done."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last = 0
        self.checkpoints = epl.Checkpoints(folder / "run", keep=2)

    def save(self, count: int, params: Any) -> None:
        """Saves behind the program; waits for the save before."""
        if PROCESS == "0":
            (self._folder / f"digest{count}").write_text(_digest(params))
        self.checkpoints.save(count, params)
        if PROCESS == "0":
            (self._folder / f"done{self._last}").touch()
        self._last = count

    def check(self, count: int, params: Any) -> None:
        """Whether the state after so many steps is the one that was saved; there may be none."""
        noted = self._folder / f"digest{count}"
        text = noted.read_text() if noted.exists() else ""  # of a process that was killed it may be empty
        assert text in ("", _digest(params)), f"another state after {count} steps"

    def latest(self) -> int:
        """The last one, which is there if it was seen to be done."""
        done = max(int(path.name.removeprefix("done")) for path in self._folder.glob("done*"))
        latest = self.checkpoints.latest
        assert latest is not None, "no checkpoint"
        assert latest >= done, f"checkpoint {done} was done, and the last one is {latest}"
        return latest


def _digest(params: Any) -> str:
    parts = (np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(params))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def resume(saves: Saves, params: Any, x: Any, y: Any) -> None:
    """Goes on from the last checkpoint until the next save of the run that has ended."""
    latest = saves.latest()
    params = saves.checkpoints.restore(epl.layout_of(train.lower(params, x, y), params))
    saves.check(latest, params)
    for _ in range(STEPS):
        params, _ = train(params, x, y)
    saves.check(latest + STEPS, params)
    saves.checkpoints.close()
    print(f"RESUMED {PROCESS} {latest}", flush=True)


def main() -> None:
    """Trains until something ends it."""
    is_victim = os.environ.get("VICTIM") == PROCESS
    saves = Saves(Path(os.environ["SAVES"])) if "SAVES" in os.environ else None
    params = {"w1": jnp.ones((16, 32)) / 7, "w2": jnp.ones((32, 16)) / 9}
    x = np.random.default_rng(0).normal(size=(24, 16)).astype(np.float32)
    y = np.tanh(x)
    if saves is not None and os.environ["FAIL"] == "resume":
        return resume(saves, params, x, y)
    params, _ = train(params, x, y)
    count = 1
    if saves is not None:
        saves.save(count, params)
        saves.checkpoints.wait()
        (Path(os.environ["SAVES"]) / "done1").touch()
    print(f"BEGUN {PROCESS} {os.getpid()}", flush=True)
    begin = time.monotonic()
    while True:
        params, _ = train(params, x, y)
        count += 1
        if saves is not None and count % STEPS == 1:
            saves.save(count, params)
        if is_victim and time.monotonic() - begin > float(os.environ["AFTER"]):
            fail(os.environ["FAIL"])


main()
