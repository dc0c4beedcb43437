"""`epl.Checkpoints`: what is kept and of which step, partial restores, and what does not fit."""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from orbax.checkpoint._src.metadata import checkpoint as orbax_metadata

import epl
from conftest import GatedStep
from processes import run_python
from steps import batches, mlp_parameters, training_step

Checkpoints = Callable[..., epl.Checkpoints]


@pytest.fixture
def checkpoints(tmp_path: Path) -> Iterator[Checkpoints]:
    """Opens the folder of the test; what a test leaves open is closed."""
    opened = []

    def run(**options: Any) -> epl.Checkpoints:
        opened.append(epl.Checkpoints(tmp_path, **options))
        return opened[-1]

    yield run
    for each in opened:
        each._manager.close()


@pytest.fixture(scope="module")
def step() -> epl.Parallelized:
    optimizer = optax.adam(1e-3)
    state, batch = ("params", "opt_state"), ("x", "y")
    return epl.parallelize(training_step(optimizer), state=state, batch=batch, devices=2, name="train")


@pytest.fixture
def state(step: epl.Parallelized) -> dict[str, Any]:
    """After a step."""
    params = mlp_parameters()
    x, y = batches(1)[0]
    params, opt_state, _ = step(params, optax.adam(1e-3).init(params), x, y)
    return {"params": params, "opt": opt_state}


def test_a_save_waits_for_nothing_and_is_of_one_step(gated: GatedStep, checkpoints: Checkpoints) -> None:
    opened = checkpoints()
    n = gated(gated.zero())
    opened.save(1, {"n": n})
    assert not n.is_ready()
    n = gated(n)  # consumes what is being saved
    gated.open()
    assert int(n) == 2
    opened.wait()
    assert int(opened.restore({"n": n})["n"]) == 1
    assert int(n) == 2


def test_a_save_of_a_lost_state_fails_at_the_next(gated: GatedStep, checkpoints: Checkpoints) -> None:
    opened = checkpoints()
    good = gated(gated.zero())
    lost = gated(good, culprit=0)
    opened.save(1, {"n": lost})
    gated.open()
    with pytest.raises(epl.Error, match="as asked"):
        opened.save(2, {"n": gated(gated.zero())})
    assert opened.steps == []
    n = gated(gated.zero())
    opened.save(3, {"n": n})
    opened.wait()
    assert opened.steps == [3]


def test_a_failed_save_leaves_no_thread_that_writes(
    gated: GatedStep, checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = orbax_metadata._MetadataStoreImpl.write

    def write_late(*args: Any) -> Any:
        gated.open()  # the state is lost while its checkpoint is described
        time.sleep(1.5)
        return write(*args)

    monkeypatch.setattr(orbax_metadata._MetadataStoreImpl, "write", write_late)
    opened = checkpoints()
    opened.save(1, {"n": gated(gated.zero(), culprit=0)})
    with pytest.raises(epl.Error, match="as asked"):
        opened.wait()
    opened.save(2, {"n": gated(gated.zero())})
    opened.wait()
    assert opened.steps == [2]


def test_what_was_donated_cannot_be_saved(
    step: epl.Parallelized, state: Any, checkpoints: Checkpoints
) -> None:
    step(state["params"], state["opt"], *batches(1)[0])
    with pytest.raises(epl.DonatedError, match="was donated by call"):
        checkpoints().save(1, state)


def test_the_last_and_the_best_are_kept(checkpoints: Checkpoints) -> None:
    for options, expected, best in (
        ({"keep": 2}, [4, 5], None),
        ({"keep": 2, "best": "loss"}, [2, 4, 5], 2),
        ({"keep": 1, "best": "loss", "mode": "max"}, [3, 5], 3),
        ({"best": "loss"}, [1, 2, 3, 4, 5], 2),
    ):
        opened = checkpoints(**options)
        for number, loss in enumerate((3.0, 1.0, 5.0, 2.0, 4.0), 1):
            opened.save(number, {"n": np.full(3, number)}, metrics={"loss": loss})
        opened.wait()
        assert (opened.steps, opened.latest) == (expected, 5)
        if best is not None:
            assert opened.best == best
            assert list(opened.restore({"n": np.zeros(3, int)}, best)["n"]) == [best] * 3
        opened.close()
        shutil.rmtree(opened.folder)


def test_all_that_stands_in_trees(checkpoints: Checkpoints, state: dict[str, Any]) -> None:
    tree = state | {
        "jax": jnp.arange(3.0),
        "numpy": np.arange(4, dtype=np.uint8),
        "keys": jax.random.split(jax.random.key(1), 2),
        "number": 7,
        "real": 0.5,
        "flag": np.bool_(True),
        "nothing": None,
        "empty": {},
        "list": [jnp.ones(2, jnp.bfloat16), (np.float32(2), "text")],
    }
    expected = jax.tree.map(
        lambda leaf: (
            leaf
            if isinstance(leaf, str)
            else np.array(
                jax.random.key_data(leaf)
                if jnp.issubdtype(getattr(leaf, "dtype", np.int8), jax.dtypes.prng_key)
                else leaf
            )
        ),
        tree,
    )
    opened = checkpoints()
    opened.save(1, tree)
    restored = opened.restore(tree)
    assert jax.tree.structure(restored) == jax.tree.structure(tree)
    for found, given, value in zip(*map(jax.tree.leaves, (restored, tree, expected)), strict=True):
        if isinstance(given, epl.Array):
            assert isinstance(found, epl.Array)
        elif isinstance(given, jax.Array):
            assert isinstance(found, jax.Array)
        else:
            assert type(found) is type(given)
        if jnp.issubdtype(getattr(given, "dtype", np.int8), jax.dtypes.prng_key):
            assert found.dtype == given.dtype
            found = jax.random.key_data(found)
        np.testing.assert_array_equal(np.asarray(found), value)


def test_a_part_is_restored_under_other_names(checkpoints: Checkpoints, state: dict[str, Any]) -> None:
    opened = checkpoints()
    opened.save(1, state)
    opened.wait()
    fresh = jax.tree.map(np.zeros_like, {"model": state["params"], "head": np.zeros(3)})
    restored = opened.restore(fresh, only=["model.w0", "model.b1"], rename={"model": "params"})
    for name, found in restored["model"].items():
        expected = state["params"][name] if name in ("w0", "b1") else np.zeros_like(state["params"][name])
        np.testing.assert_array_equal(found, expected)
    assert restored["head"] is fresh["head"]
    one = opened.restore({"x": state["params"]["w2"]}, only="x", rename={"x": "params.w2"})
    np.testing.assert_array_equal(one["x"], state["params"]["w2"])
    assert isinstance(one["x"], epl.Array)


def test_what_does_not_fit_is_named(checkpoints: Checkpoints, state: dict[str, Any]) -> None:
    opened = checkpoints()
    opened.save(1, state)
    opened.wait()
    params = dict(state["params"])

    def restore(change: dict[str, Any], **options: Any) -> None:
        opened.restore(state | {"params": params | change}, **options)

    for change, message in (
        (
            {"w0": np.zeros((12, 31), np.float32)},
            r'"params.w0" is float32\[12,32\], expected float32\[12,31\]',
        ),
        (
            {"w0": np.zeros((12, 32), np.float16)},
            r'"params.w0" is float32\[12,32\], expected float16\[12,32\]',
        ),
        ({"w7": np.zeros(3)}, r'"params.w7" is not in it, expected float64\[3\], did you mean "params.w'),
        ({"b0": 3}, r'"params.b0" is float32\[32\], expected number\[\]'),
    ):
        with pytest.raises(epl.StateError, match=message):
            restore(change)
    del params["w1"]
    with pytest.raises(
        epl.StateError, match=r'"params.w1" \(float32\[32,24\]\) has no place in the tree .*only='
    ):
        restore({})
    with pytest.raises(epl.StateError, match=r'"params.w0", there "params.w9", is not in it'):
        restore({}, only="params.w0", rename={"params.w0": "params.w9"})
    with pytest.raises(epl.ArgumentError, match="only names 'param', no path of the tree, did you mean"):
        restore({}, only="param")
    with pytest.raises(epl.ArgumentError, match="rename names 'w0', no path"):
        restore({}, rename={"w0": "x"})


def test_bad_arguments(checkpoints: Checkpoints, step: epl.Parallelized, state: Any) -> None:
    for options, message in (
        ({"keep": 0}, "keep must be an integer of at least 1 or None, found 0"),
        ({"keep": True}, "keep must be .* found True"),
        ({"mode": "low"}, 'mode must be "min" or "max", found \'low\''),
    ):
        with pytest.raises(epl.ArgumentError, match=message):
            checkpoints(**options)
    opened = checkpoints(best="loss")
    with pytest.raises(epl.ArgumentError, match="must have a checkpoint of one, found none"):
        opened.restore(state)
    for number in (-1, 1.5, True):
        with pytest.raises(epl.ArgumentError, match="step must be an integer of at least 0"):
            opened.save(number, state)  # type: ignore[arg-type]
    with pytest.raises(
        epl.ArgumentError, match=r'metrics must have "loss", which says the best, found accuracy'
    ):
        opened.save(4, state, metrics={"accuracy": 1.0})
    opened.save(4, state, metrics={"loss": 1.0})
    with pytest.raises(epl.ArgumentError, match=r"step must be above 4, the last in .*, found 4"):
        opened.save(4, state)
    with pytest.raises(epl.ArgumentError, match="must have a checkpoint of step 5, found 4"):
        opened.restore(state, 5)
    with pytest.raises(epl.ArgumentError, match="was not told by best="):
        checkpoints().best  # noqa: B018
    empty = epl.parallelize(lambda s: s, state="s", devices=1, name="empty")(jnp.zeros((0, 3)))
    for leaf, message in (
        (empty, r'"new.none" has no elements \(float32\[0, 3\]\)'),
        (np.zeros(0), r'"new.none" has no elements \(float64\[0\]\)'),
        (object(), '"new.none" must be an array, a number or a string, found object'),
    ):
        with pytest.raises(epl.ArgumentError, match=message):
            opened.save(9, {"new": {"none": leaf}}, metrics={"loss": 1.0})
    opened.save(9, state, metrics={"loss": 1.0})
    opened.wait()


def test_layouts_that_are_none(step: epl.Parallelized, state: Any) -> None:
    params, opt_state = state["params"], state["opt"]
    lowered = step.lower(params, opt_state, *batches(1)[0])
    with pytest.raises(
        epl.ArgumentError, match=r"step must be a lowered or compiled one, found epl\.parallelize"
    ):
        epl.layout_of(step)  # type: ignore[arg-type]
    with pytest.raises(
        epl.StateError, match=r"tuple of the 2 states of train \(params, opt_state\), found dict of 6"
    ):
        epl.layout_of(lowered, params)
    for change, message in (
        (
            {k: v for k, v in params.items() if "0" not in k},
            r"params\.b0: expected float32\[32\], found nothing; params\.w0: expected .*, found nothing",
        ),
        (params | {"extra": jnp.ones(1)}, r"params\.extra: expected nothing, found float32\[1\]"),
        (params | {"w0": jnp.ones(3)}, r"params\.w0: expected float32\[12,32\], found float32\[3\]"),
        (params | {"b0": 3.0}, r"params\.b0: expected float32\[32\], found float\[\]"),
    ):
        with pytest.raises(epl.StateError, match=f"state is not as the step takes it: {message}"):
            epl.layout_of(lowered, (change, opt_state))


def test_an_unfinished_save_is_skipped(checkpoints: Checkpoints, state: Any) -> None:
    opened = checkpoints()
    opened.save(1, state)
    opened.wait()
    shutil.copytree(opened.folder / "1", opened.folder / "2.orbax-checkpoint-tmp")
    with pytest.warns(
        RuntimeWarning, match=r'2.orbax-checkpoint-tmp" is of a save that did not finish: it is skipped'
    ):
        again = checkpoints()
    assert again.latest == 1
    again.save(2, state)
    again.wait()
    assert again.steps == [1, 2]
    assert sorted(path.name for path in again.folder.iterdir()) == ["1", "2"]


FULL_DISK = """
    import os, resource, sys
    import numpy as np, jax.numpy as jnp, epl
    step = epl.parallelize(lambda w: w + 1, state="w", devices=2, name="step")
    w = step(jnp.asarray(np.random.default_rng(0).normal(size=(512, 512)), jnp.float32))
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))  # as a full disk is
    checkpoints = epl.Checkpoints(sys.argv[1] if len(sys.argv) > 1 else os.environ["FOLDER"])
    checkpoints.save(1, {"w": w})
    w = step(w)
    try:
        {next}
        raise SystemExit("no error")
    except epl.Error as error:
        print(error)
    assert checkpoints.latest is None
    assert not list(checkpoints.folder.iterdir())  # what was written would keep the disk full
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    checkpoints.save(3, {"w": w})
    checkpoints.close()
    print(checkpoints_after := epl.Checkpoints(os.environ["FOLDER"]).steps)
"""


@pytest.mark.parametrize("next_call", ["checkpoints.save(2, {'w': w})", "checkpoints.wait()"])
def test_a_full_disk_is_an_error_of_the_next_save_or_the_end(next_call: str, tmp_path: Path) -> None:
    printed = run_python(FULL_DISK.replace("{next}", next_call), FOLDER=str(tmp_path))
    assert f'"{tmp_path}/1" was not saved: ' in printed
    assert "File too large" in printed
    assert "[3]" in printed
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_an_end_without_wait_is_an_error_too(tmp_path: Path) -> None:
    code = FULL_DISK.replace("{next}", "checkpoints.close()")
    assert "was not saved" in run_python(
        code.partition("    assert checkpoints.latest")[0], FOLDER=str(tmp_path)
    )
