"""Checkpoints from every layout to every other one, in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest

import epl
from checkpoint_layouts import (
    LAYOUTS,
    assert_same,
    data,
    layout_of,
    new_state,
    numbers,
    parallelized,
    state_of,
    trained,
    tree_of,
)
from processes import run_python

Saved = dict[str, tuple[epl.Checkpoints, Any, Any]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Of each layout the checkpoint after two steps, what it must have, and the state two steps later."""
    folder = tmp_path_factory.mktemp("checkpoints")
    all_saved = {}
    for layout in LAYOUTS:
        state = trained(layout, new_state(), 2)
        expected = numbers(tree_of(state))
        checkpoints = epl.Checkpoints(folder / layout)
        checkpoints.save(2, tree_of(state))
        later = numbers(tree_of(trained(layout, state, 2)))
        checkpoints.wait()
        all_saved[layout] = checkpoints, expected, later
    return all_saved


def test_the_layouts_are_what_they_say() -> None:
    """Boxes of several segments, states on one of two meshes, split ones: all that JAX has no words for."""
    params, _, _ = trained("split, 2 replicas", new_state(), 1)
    qkv = params["body"]["qkv"].device_sharding
    assert qkv is not None
    assert qkv.shape != params["body"]["qkv"].shape
    assert len(params["body"]["qkv"].addressable_shards) > 4
    assert trained("two stages", new_state(), 1)[0]["body"]["qkv"].buffer.sharding is None
    assert trained("ZeRO v1", new_state(), 1)[1][0].mu["body"]["qkv"].device_sharding is not None


def assert_held_as_the_step_does(layout: str, restored: Any) -> None:
    fresh = tree_of(trained(layout, new_state(), 1))
    found, expected = (jax.tree.leaves(tree) for tree in (restored, fresh))
    for a, b in zip(found, expected, strict=True):
        one, other = (getattr(leaf, "_base_array", leaf) for leaf in (a, b))
        assert isinstance(one, epl.Array)
        assert one.buffer.all_shards() == other.buffer.all_shards()


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("source", LAYOUTS)
def test_every_layout_restores_into_every_other(saved: Saved, source: str, target: str) -> None:
    checkpoints, expected, later = saved[source]
    restored = checkpoints.restore(layout_of(target))
    assert_same(numbers(restored), expected)
    assert_held_as_the_step_does(target, restored)
    if source == target:
        assert_same(numbers(tree_of(trained(target, state_of(restored), 2))), later)
        assert len(parallelized(target)._lowered) == 1


def test_the_step_goes_on_in_the_memory_that_was_restored(saved: Saved) -> None:
    """A restored state is donated like any other, and nothing keeps its memory."""
    restored = saved["ZeRO v3"][0].restore(layout_of("ZeRO v3"))
    weights = restored["params"]["body"]["qkv"]
    address = weights.buffer.shards()[0][2].ctypes.data
    params, _, _ = trained("ZeRO v3", state_of(restored), 1)
    assert weights.is_deleted()
    assert params["body"]["qkv"].buffer.shards()[0][2].ctypes.data == address


def test_orbax_alone_reads_the_users_tree(saved: Saved, tmp_path: Path) -> None:
    """A program without EPL, from every layout."""
    folders = {layout: str(checkpoints.folder) for layout, (checkpoints, *_) in saved.items()}
    code = f"""
        import json, sys
        import jax, numpy as np, orbax.checkpoint as ocp
        for i, folder in enumerate({json.dumps(list(folders.values()))}):
            with ocp.CheckpointManager(folder) as manager:
                tree = manager.restore(2, args=ocp.args.StandardRestore())
            leaves = jax.tree.flatten_with_path(tree)[0]
            names = ["/".join(str(getattr(k, "key", getattr(k, "idx", None))) for k in p) for p, _ in leaves]
            values = [jax.random.key_data(v) if v.dtype == jax.random.key(0).dtype else v for _, v in leaves]
            values = [np.asarray(v) for v in values]
            values = [v.view(np.uint16) if v.dtype.name == "bfloat16" else v for v in values]
            np.savez(f"{tmp_path}/{{i}}.npz", **dict(zip(names, values)))
        assert "epl" not in sys.modules
    """
    run_python(code)
    for i, layout in enumerate(saved):
        read = np.load(tmp_path / f"{i}.npz")
        paths = jax.tree.flatten_with_path(saved[layout][1])[0]
        assert len(paths) == len(read.files)
        for path, expected in paths:
            name = "/".join(str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", "")))) for k in path)
            assert read[name].tobytes() == expected.tobytes(), (layout, name)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_orbax_as_it_is_saves_and_restores(layout: str, tmp_path: Path) -> None:
    """With the handlers that it has once EPL is imported: to JAX's devices, and into the layout of a step."""
    tree = tree_of(trained(layout, new_state(), 2))
    expected = numbers(tree)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "state", tree)
        later = trained(layout, state_of(tree), 1)  # the save has its own
        checkpointer.wait_until_finished()
        assert_same(
            numbers(checkpointer.restore(tmp_path / "state", jax.eval_shape(lambda: new_tree()))), expected
        )
        restored = checkpointer.restore(tmp_path / "state", layout_of(layout))
    assert_same(numbers(restored), expected)
    assert_held_as_the_step_does(layout, restored)
    assert_same(numbers(trained(layout, state_of(restored), 1)), numbers(later))


def new_tree() -> dict[str, Any]:
    return tree_of(new_state())


def test_what_jax_alone_has_saved_restores_into_a_layout(tmp_path: Path) -> None:
    state = jax.tree.map(
        lambda leaf: jax.numpy.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, new_state()
    )
    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(5, args=ocp.args.StandardSave(tree_of(state)))
    with epl.Checkpoints(tmp_path) as checkpoints:
        restored = checkpoints.restore(layout_of("split, 2 replicas"))
    assert_same(numbers(restored), numbers(tree_of(state)))


def test_a_state_of_the_step_stands_for_its_layout(saved: Saved) -> None:
    tree = tree_of(trained("split in 4", new_state(), 3))
    restored = saved["4 replicas"][0].restore(tree)
    assert_same(numbers(restored), saved["4 replicas"][1])
    assert_held_as_the_step_does("split in 4", restored)


def test_a_layout_without_a_state_is_the_steps_own_tree() -> None:
    state = new_state()
    lowered = parallelized("2 replicas").lower(*state, *data())
    found = epl.layout_of(lowered)
    assert jax.tree.structure(found) == jax.tree.structure(epl.layout_of(lowered.compile(), state))
    assert [leaf.shape for leaf in jax.tree.leaves(found)] == [
        np.shape(leaf) for leaf in jax.tree.leaves(state)
    ]
