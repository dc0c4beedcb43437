"""What each process of a run does in tests of `epl.init_state`; the tests start them by mpirun."""

from __future__ import annotations

import hashlib
import json
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import epl

epl.init(devices="cpu:12")  # before JAX is used

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from init_layouts import KEY, LAYOUTS, WIDTH, Tree, addresses, lowered, split2, states  # noqa: E402

X = np.random.default_rng(0).normal(size=(24, WIDTH)).astype(np.float32)


def blocks(tree: Tree) -> dict[str, str]:
    """A digest of each block that a device of this process has."""
    return {
        f"leaf {number}, device {rank}, box {box}": hashlib.sha256(data.tobytes()).hexdigest()
        for number, leaf in enumerate(jax.tree.leaves(tree))
        for rank, box, data, _ in leaf.buffer.shards()
    }


def make(path: str, layouts: Sequence[str]) -> None:
    """Makes the states of each layout, does a step in place, and writes down what the devices here have."""
    found = {}
    for layout in layouts:
        init = states(LAYOUTS[layout].make)
        step, like = lowered(LAYOUTS[layout], init)
        made = epl.init_state(init, KEY, like=like)
        first, held = blocks(made), addresses(made)
        *after, _ = step(*made, X)
        assert addresses(tuple(after)) == held, "the step works in place"
        found[layout] = {"first": first, "after a step": blocks(tuple(after))}
    Path(path, f"{jax.process_index()} of {jax.process_count()}.json").write_text(json.dumps(found))


def trained(step: epl.Parallelized, state: Tree, count: int) -> Tree:
    """The states after so many steps."""
    for _ in range(count):
        *state, _ = step(*state, X)
    return tuple(state)


def save(path: str, layouts: Sequence[str]) -> None:
    """Makes states, trains, saves, and goes on; writes down what a restored run must come to."""
    for layout in layouts:
        init = states(LAYOUTS[layout].make)
        step, like = lowered(LAYOUTS[layout], init)
        state = trained(step, epl.init_state(init, KEY, like=like), 2)
        with epl.Checkpoints(Path(path, layout)) as checkpoints:
            checkpoints.save(2, state)
            state = trained(step, state, 2)
        write_digests(Path(path, f"{layout} expected.json"), state)


def restore(path: str, layouts: Sequence[str]) -> None:
    """Restores what `save` has saved, and goes on."""
    for layout in layouts:
        step, like = lowered(LAYOUTS[layout], states(LAYOUTS[layout].make))
        with epl.Checkpoints(Path(path, layout)) as checkpoints:
            state = trained(step, checkpoints.restore(epl.layout_of(like)), 2)
        write_digests(Path(path, f"{layout} found.json"), state)


def write_digests(file: Path, state: Tree) -> None:
    """Digests of whole values, which process 0 writes."""
    whole = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(epl.gather(state))]
    if jax.process_index() == 0:
        file.write_text(json.dumps([hashlib.sha256(content).hexdigest() for content in whole]))


def small(key: jax.Array) -> dict[str, jax.Array]:
    """The state of `small_step`."""
    keys = jax.random.split(key)
    return {"up": jax.random.uniform(keys[0], (4, 8)), "down": jax.random.uniform(keys[1], (8, 4))}


def small_step(p: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """A step on two devices."""
    with split2():
        return jax.tree.map(lambda w: w * 2, p), (x @ p["up"] @ p["down"]).sum()


def mistake(path: str) -> None:
    """Process 1 does otherwise than process 0, in one way after another; each writes down what it is told."""
    own = jax.process_index()
    table = np.arange(3000, dtype=np.float32) + own
    step = epl.parallelize(small_step, state="p", batch="x", devices=2, name="step")
    like = step.lower(jax.eval_shape(small, KEY), X[:4, :4])

    def changed(change: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], Any]:
        return lambda key: jax.tree.map(change, small(key))

    def other_tree(key: jax.Array) -> Any:
        return small(key) | ({"more": key} if own == 1 else {})

    calls = {
        "key": (small, jax.random.key(own)),
        "function": (changed(lambda w: w * (2.0 + own)), KEY),
        "array": (changed(lambda w: w + jnp.asarray(table)[:1]), KEY),
        "tree": (other_tree, KEY),  # the last one: process 1 ends
    }
    for what, (init, key) in calls.items():
        init.__name__ = what
        try:
            epl.init_state(init, key, like=like)
        except epl.Error as error:
            with Path(path, str(own)).open("a") as file:
                file.write(f"{what}: {type(error).__name__}: {error}".replace("\n", " ") + "\n")
            if what == "tree":
                raise


def make_large() -> None:
    """Prints what a process takes beside its part of the states at its peak, when it makes 1 GiB of them.

    In the largest parts of its devices, 32 MiB each.
    """
    side = 4096
    kinds = {f"w{i}": jax.ShapeDtypeStruct((side, 2 * side), np.float32) for i in range(8)}

    def init(key: jax.Array) -> dict[str, jax.Array]:
        keys = jax.random.split(key, len(kinds))
        return {n: jax.random.normal(k, kinds[n].shape) for n, k in zip(kinds, keys, strict=True)}

    def keep(params: dict[str, jax.Array], x: jax.Array) -> dict[str, jax.Array]:
        with epl.replicate():
            return jax.tree.map(lambda w: w * 2 + x[0, 0], params)

    step = epl.parallelize(keep, state="params", batch="x", devices="cpu:4", config={"zero.level": "v3"})
    like = step.lower(kinds, jnp.zeros((4, 1)))
    like.compile()
    before = resident()
    made = epl.init_state(init, KEY, like=like)
    jax.block_until_ready(made)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    parts = [data.nbytes for leaf in made.values() for *_, data, _ in leaf.buffer.shards()]
    devices = len(parts) // len(made)
    print(f"beside {sum(parts) >> 20} MiB {(peak - sum(parts)) / (devices * max(parts)):.3f} parts\n", end="")


def resident() -> int:
    """Bytes of memory that this process has at the moment."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
