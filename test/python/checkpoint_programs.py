"""What each process of a run does in tests of checkpoints; the tests start them by mpirun."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import epl

epl.init(devices="cpu:4")  # before JAX is used

import jax  # noqa: E402

from checkpoint_layouts import (  # noqa: E402
    assert_same,
    layout_of,
    new_state,
    numbers,
    state_of,
    trained,
    tree_of,
)
from epl.processes import group  # noqa: E402


def save(path: str, layouts: Sequence[str]) -> None:
    """Saves after two steps while training goes on, and writes down what must be restored."""
    folder = Path(path)
    for layout in layouts:
        tree = tree_of(trained(layout, new_state(), 2))
        expected = numbers(tree)
        extra = {"host": jax.numpy.arange(3.0), "numpy": np.arange(4), "batch": 17}
        with epl.Checkpoints(folder / layout) as checkpoints:
            checkpoints.save(2, tree | extra)
            later = numbers(trained(layout, state_of(tree), 2))
        epl.save_safetensors(
            folder / f"{layout}.safetensors", {"params": layout_of_saved(folder, layout)["params"]}
        )
        if group.speaks():
            (folder / f"{layout}.pickle").write_bytes(pickle.dumps((expected, later)))


def layout_of_saved(folder: Path, layout: str) -> Any:
    with epl.Checkpoints(folder / layout) as checkpoints:
        tree = layout_of(layout)
        return checkpoints.restore(tree, only=list(tree))


def restore(path: str, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Restores all that is saved into each of the layouts, and goes on from it in the same one."""
    folder = Path(path)
    for source in sources:
        expected, later = pickle.loads((folder / f"{source}.pickle").read_bytes())
        for target in targets:
            like = layout_of(target)
            extra = {"host": jax.numpy.zeros(3), "numpy": np.zeros(4, int), "batch": 0}
            with epl.Checkpoints(folder / source) as checkpoints:
                restored = checkpoints.restore(like | extra)
            assert list(restored["numpy"]) == list(range(4))
            assert (list(restored["host"]), restored["batch"]) == ([0.0, 1.0, 2.0], 17)
            assert_same(numbers({name: restored[name] for name in like}), expected)
            params = epl.load_safetensors(folder / f"{source}.safetensors", {"params": like["params"]})
            assert_same(numbers(params), {"params": expected["params"]})
            if source == target:
                assert_same(numbers(trained(target, state_of(restored), 2)), later)
    if group.speaks():
        print(f"restored {len(sources) * len(targets)}")


def train_and_die(path: str, layout: str, victim: int) -> None:
    """Saves after each step; dies in one of the saves if it is told to, goes on from the last one if not."""
    folder = Path(path)
    state: Any = new_state()
    with epl.Checkpoints(folder) as checkpoints:
        begin = checkpoints.latest or 0
        if begin:
            state = state_of(checkpoints.restore(layout_of(layout)))
        for count in range(begin + 1, 7):
            state = trained(layout, state, 1)
            checkpoints.save(count, tree_of(state))
            present = group.current()
            assert present is not None
            if present.process == victim and count == 4:
                while not list(folder.glob("4.orbax-checkpoint-tmp*/*")):
                    time.sleep(0.001)
                os.kill(os.getpid(), signal.SIGKILL)
    final = numbers(tree_of(state))
    if group.speaks():
        print(f"began with {begin}")
        (folder / "final.pickle").write_bytes(pickle.dumps(final))


def fill_disk(path: str, victim: int) -> None:
    """The disk is full for one process in the background of a save; writes what each is told, and goes on."""
    present = group.current()
    assert present is not None
    folder, state = Path(path), trained("ZeRO v3", new_state(), 1)
    if present.process == victim:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    with epl.Checkpoints(folder / "run") as checkpoints:
        checkpoints.save(1, tree_of(state))
        state = trained("ZeRO v3", state, 1)
        _write_told(folder / f"told{present.process}", lambda: checkpoints.save(2, tree_of(state)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        checkpoints.save(3, tree_of(state))
        checkpoints.wait()
        assert checkpoints.steps == [3]


def lose_folder(path: str) -> None:
    """No folder of a checkpoint can be made; writes what each process is told."""
    present = group.current()
    assert present is not None
    folder, state = Path(path), trained("ZeRO v3", new_state(), 1)
    with epl.Checkpoints(folder / "run") as checkpoints:
        if present.process == 0:
            (folder / "run").rmdir()
            (folder / "run").write_text("no folder")
        checkpoints.save(1, tree_of(state))
        _write_told(folder / f"told{present.process}", checkpoints.wait)


def _write_told(path: Path, action: Callable[[], None]) -> None:
    try:
        action()
    except epl.Error as error:
        path.write_text(f"{error}\n")


def keep(params: Any, x: jax.Array) -> Any:
    with epl.replicate():
        return jax.tree.map(lambda w: w * 2 + x[0, 0], params)


def _large(level: str) -> tuple[epl.Parallelized, dict[str, jax.ShapeDtypeStruct], Any]:
    """A step of 1 GiB of states, what these are, and a batch."""
    step = epl.parallelize(
        keep, state="params", batch="x", devices="cpu:4", config={"zero.level": level}, name="keep"
    )
    kinds = {f"w{i}": jax.ShapeDtypeStruct((8192, 4096), np.float32) for i in range(8)}
    return step, kinds, np.zeros((4, 1), np.float32)


def save_large(path: str) -> None:
    step, kinds, x = _large("v3")
    random = np.random.default_rng(0)  # which no compression makes smaller
    params = {name: random.random(kind.shape, np.float32) for name, kind in kinds.items()}
    with epl.Checkpoints(path) as checkpoints:
        checkpoints.save(1, step(params, x))


def restore_large(path: str) -> None:
    """Prints how much more memory than its part of the state a restore takes at its peak."""
    step, kinds, x = _large("v3")
    layout = epl.layout_of(step.lower(kinds, x), kinds)
    with epl.Checkpoints(path) as checkpoints:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        restored = checkpoints.restore(layout)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    own = sum(data.nbytes for leaf in restored.values() for *_, data, _ in leaf.buffer.shards())
    print(f"peak {peak * 1024 / own:.3f} of {own >> 20} MiB")
