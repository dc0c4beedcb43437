"""Steps that say what one device does: the results are those of `jax.vmap` over as many parts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import epl
import mpi

AXIS = "device"


def mapped(function: Any, axes: Any, out_axes: Any) -> Any:
    return jax.jit(jax.vmap(function, in_axes=axes, out_axes=out_axes, axis_name=AXIS))


def parts(value: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    return value.reshape(count, -1, *value.shape[1:])


def numbers(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def train(w: Any, mean: Any, x: Any, y: Any, rate: Any = 1 / 1024) -> Any:
    """As code for `jax.pmap` is: the part of one device, gradients averaged, statistics of its own."""

    def loss(w: Any) -> Any:
        h = x @ w["in"]
        return jnp.mean((jnp.maximum(h, 0) @ w["out"] - y) ** 2), jnp.mean(h, 0)

    (value, new), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    w = jax.tree.map(lambda old, g: old - rate * g, w, lax.pmean(gradient, AXIS))
    return w, 0.5 * mean + 0.5 * new, value, lax.axis_index(AXIS)


def arguments(count: int) -> tuple[Any, ...]:
    w = {"in": numbers(0, 6, 8), "out": numbers(1, 8, 4)}
    return w, np.zeros((count, 8), np.float32), numbers(2, 4 * count, 6), numbers(3, 4 * count, 4)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_training_step_of_one_device(count: int) -> None:
    step = epl.parallelize(
        train, state=("w", "mean"), batch=("x", "y"), devices=count, per_device=AXIS, local="mean"
    )
    w, mean, x, y = arguments(count)
    expected = w, mean
    for _ in range(3):
        w, mean, value, index = step(w, mean, x, y)
        *expected, loss, _ = mapped(train, (None, 0, 0, 0), (None, 0, 0, 0))(
            *expected, parts(x, count), parts(y, count)
        )
        np.testing.assert_allclose(value, loss, rtol=1e-5)
        assert np.array_equal(index, np.arange(count))
    for found, other in zip(jax.tree.leaves((w, mean)), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-5, atol=1e-6)


def test_the_devices_exchange_gradients_alone() -> None:
    """Each has its own statistics; all gradients are one message."""
    step = epl.parallelize(
        train, state=("w", "mean"), batch=("x", "y"), devices=4, per_device=AXIS, local="mean"
    )
    lowered = step.lower(*arguments(4))
    text = lowered.as_text("local")
    assert text.count("epl.all_reduce") == 1
    assert "epl.all_gather" not in text
    _, mean, *_ = step(*arguments(4))
    assert mean.device_sharding.dims == (("data",), ())


def exchange(x: Any) -> Any:
    """All that devices do over an axis, of integers."""
    turn = [(i, (i + 1) % 4) for i in range(4)]
    return (
        lax.psum(x, AXIS),
        lax.pmean(x, AXIS),
        lax.pmax(x, AXIS),
        lax.pmin(x, AXIS),
        lax.all_gather(x, AXIS),
        lax.ppermute(x, AXIS, turn),
        lax.psum_scatter(x, AXIS, tiled=True),
        lax.all_to_all(x, AXIS, 0, 0, tiled=True),
        lax.psum(1, AXIS) * x,
        x + lax.axis_index(AXIS),
    )


def test_what_devices_exchange_is_equal_bit_by_bit() -> None:
    x = numbers(0, 16, 3)
    found = epl.parallelize(exchange, batch="x", devices=4, per_device=AXIS)(x)
    for each, other in zip(found, mapped(exchange, 0, 0)(parts(x, 4)), strict=True):
        assert np.array_equal(each, other)


def test_roles_of_arguments() -> None:
    """A batch along another axis, static values, keys, an optimizer's state; named and positional."""

    @epl.parallelize(
        state=("w", "moments", "key"), batch={"x": 1}, static_argnames="scale", devices=2, per_device=AXIS
    )
    def step(w: Any, moments: Any, key: Any, x: Any, rate: Any, *, scale: int) -> Any:
        key, used = jax.random.split(key)
        noise = jax.random.normal(jax.random.fold_in(used, lax.axis_index(AXIS)), w.shape)
        gradient = lax.pmean(scale * x.sum(1) + 0 * noise, AXIS)
        change, moments = optax.adam(rate).update(gradient, moments, w)
        return w + change, moments, key, {"noise": noise, "sum": x.sum()}

    w, x = np.ones(3, np.float32), numbers(1, 3, 8)
    w, _, _, out = step(w, optax.adam(0.5).init(w), jax.random.key(0), x, rate=0.5, scale=2)
    assert w.shape == (3,)
    assert np.array_equal(out["sum"], x.reshape(3, 2, 4).sum((0, 2)))
    assert out["noise"].shape == (2, 3)
    assert not np.array_equal(out["noise"][0], out["noise"][1])
    _, used = jax.random.split(jax.random.key(0))
    np.testing.assert_allclose(
        out["noise"][1], jax.random.normal(jax.random.fold_in(used, 1), (3,)), rtol=1e-5
    )


def test_a_lone_state() -> None:
    step = epl.parallelize(
        lambda w, x: w + lax.psum(x.sum(), AXIS), state="w", batch="x", devices=2, per_device=AXIS
    )
    assert float(step(np.float32(1), numbers(0, 4))) == 1 + numbers(0, 4).sum()


def train_in_groups(w: Any, mean: Any, x: Any, y: Any) -> Any:
    """As `train`; gradients are summed within groups of devices, and then these sums."""

    def loss(w: Any) -> Any:
        h = x @ w["in"]
        return jnp.mean((jnp.maximum(h, 0) @ w["out"] - y) ** 2), jnp.mean(h, 0)

    def average(gradient: Any) -> Any:
        within = epl.constrain(lax.psum(gradient, AXIS), {None: "data2"})
        return epl.constrain(within, {None: "data"}) / lax.psum(1, AXIS)

    (value, new), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    w = jax.tree.map(lambda old, g: old - g / 1024, w, jax.tree.map(average, gradient))
    return w, 0.5 * mean + 0.5 * new, value, lax.axis_index(AXIS)


@pytest.mark.parametrize(("groups", "members"), [(2, 2), (2, 4), (3, 2)])
def test_devices_in_groups(groups: int, members: int) -> None:
    """A sum within each group, then one of these; all else is as without groups."""
    count = groups * members
    options = {"state": ("w", "mean"), "batch": ("x", "y"), "devices": count, "local": "mean"}
    step = epl.parallelize(train_in_groups, per_device=(AXIS, groups), **options)
    plain = epl.parallelize(train, per_device=AXIS, **options)
    values = arguments(count)
    for found, expected in zip(jax.tree.leaves(step(*values)), jax.tree.leaves(plain(*values)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    text = step.lower(*values).as_text("local")
    sums = [
        re.findall("partial = sum{(.*?)}", line) for line in text.splitlines() if "epl.all_reduce" in line
    ]
    both, groups_alone = ['"data", "data2"'] * 2, ['"data"'] * 2
    assert sums == [both + groups_alone, groups_alone]  # of two tensors: what was pending, what still is
    assert "epl.all_gather" not in text
    assert step(*values)[1].device_sharding.dims == (("data", "data2"), ())


OPTIONS = {"state": ("w", "mean"), "batch": ("x", "y"), "devices": 2, "per_device": AXIS, "local": "mean"}
W, MEAN, X, Y = arguments(2)
WRONG: list[tuple[dict[str, Any], tuple[Any, ...], type[Exception], str]] = [
    ({}, (W, MEAN, X[:7], Y[:7]), epl.ArgumentError, 'batch "x" of train has 7 samples along dimension 0'),
    (
        {"local": ()},
        (W, MEAN[0], X, Y),
        epl.StateError,
        'state "mean" of train depends on the device, .* or name "mean" in local',
    ),
    (
        {},
        (W, MEAN[0], X, Y),
        epl.StateError,
        r'"mean" of train is local: expected a value for each of 2 devices .*, found float32\[8\]',
    ),
    ({"local": "x"}, (), epl.ArgumentError, 'local names "x", which is no state of train'),
    ({"local": "means"}, (), epl.ArgumentError, "local names 'means', but train has"),
    ({"per_device": ""}, (), epl.ArgumentError, "per_device must be the name of an axis"),
    ({"per_device": (2, "a")}, (), epl.ArgumentError, "per_device must be the name of an axis, found"),
    ({"per_device": ("a", 0)}, (), epl.ArgumentError, "per_device must have a number of groups, found 0"),
    (
        {"per_device": (AXIS, 3)},
        (W, MEAN, X, Y),
        epl.ConfigError,
        "per_device of train has 3 groups, expected a number that divides the 2 devices",
    ),
    ({"pad_batch": True}, (), epl.ArgumentError, "pad_batch is for steps of the whole batch"),
    ({"per_device": None}, (), epl.ArgumentError, "local is for steps of one device, found 'mean'"),
    (
        {"config": {"pipeline.num_micro_batch": 2}},
        (W, MEAN, X, Y),
        epl.ConfigError,
        "pipeline.num_micro_batch is 2, but train says what one device does",
    ),
]


@pytest.mark.parametrize(("options", "values", "kind", "text"), WRONG, ids=range(len(WRONG)))
def test_says_what_is_wrong(options: dict[str, Any], values: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        epl.parallelize(train, **(OPTIONS | options))(*values)


def test_says_that_it_has_no_scopes() -> None:
    @epl.parallelize(batch="x", devices=2, per_device=AXIS)
    def step(x: Any) -> Any:
        with epl.split():
            return x + 1

    with pytest.raises(
        epl.ScopeError, match=r"step says what one device does \(per_device\), and has no scopes"
    ):
        step(numbers(0, 4))


def test_says_that_an_axis_has_another_name() -> None:
    step = epl.parallelize(lambda x: lax.psum(x, "devices"), batch="x", devices=2, per_device=AXIS)
    with pytest.raises(epl.UnsupportedError, match=r'"psum" .*: .* or name its axis in per_device='):
        step(numbers(0, 4))


def test_each_device_has_its_own_key() -> None:
    @epl.parallelize(state=("key", "count"), devices=4, per_device=AXIS, local=("key", "count"))
    def step(key: Any, count: Any) -> Any:
        key, used = jax.random.split(key)
        return key, count + 1, jax.random.normal(used, (3,))

    keys = jax.random.split(jax.random.key(0), 4)
    key, count = keys, np.zeros(4, np.int32)
    for _ in range(2):
        key, count, drawn = step(key, count)
    assert np.array_equal(count, [2, 2, 2, 2])
    used = jax.vmap(lambda key: jax.random.split(jax.random.split(key)[0])[1])(keys)
    np.testing.assert_allclose(drawn, jax.vmap(lambda key: jax.random.normal(key, (3,)))(used), rtol=1e-5)


OVER_PROCESSES = """
    import hashlib
    import os
    import sys

    import numpy as np

    import epl
    import test_per_device as tests

    epl.init(devices=4)
    step = epl.parallelize(
        tests.train, state=("w", "mean"), batch=("x", "y"), per_device=tests.AXIS, local="mean"
    )
    w, mean, x, y = tests.arguments(4)
    for _ in range(3):
        w, mean, value, _ = step(w, mean, x, y)
    whole = [np.asarray(leaf).tobytes() for leaf in (*epl.gather(w).values(), *epl.gather([mean, value]))]
    print(f"DIGEST {hashlib.sha256(b''.join(whole)).hexdigest()}", flush=True)
"""


def test_several_processes_are_as_one(tmp_path: Path) -> None:
    found = set()
    for processes in (1, 2, 4):
        done = mpi.run(processes, mpi.write(tmp_path / "script.py", OVER_PROCESSES))
        assert done.returncode == 0, done.stderr
        digests = re.findall("DIGEST ([0-9a-f]{64})", done.stdout)  # lines of two processes may be joined
        assert len(digests) == processes, done.stdout
        found.update(digests)
    assert len(found) == 1
