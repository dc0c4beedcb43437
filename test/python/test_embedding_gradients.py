"""Gradients of embeddings: devices exchange the rows that a batch looks up where that moves less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
import mpi
from steps import assert_close, exchanged

ROWS, FEATURES, BATCH = 2048, 8, 16
DENSE = {"communication.sparse_as_dense": True}
Look = Callable[[Any, Any], Any]


def squeezed(table: Any, ids: Any) -> Any:
    """A loss of which the gradient is made of small integers if the table is."""
    return table[ids] ** 2


LOOKS: dict[str, Look] = {
    "indexed": squeezed,
    "taken": lambda table, ids: jnp.take(table, ids, axis=0) ** 2,
    "clipped": lambda table, ids: jnp.take(table, ids, axis=0, mode="clip") ** 2,
    "vmapped": lambda table, ids: jax.vmap(lambda one: table[one] ** 2)(ids),
    "twice": lambda table, ids: table[ids] * table[(ids + 7) % ROWS],
    "scaled": lambda table, ids: 0.5 * table[ids] ** 2,
    "features first": lambda table, ids: table.T[:, ids].T ** 2,
}


def make(look: Look) -> Any:
    def step(table: Any, ids: Any) -> Any:
        value, gradient = jax.value_and_grad(lambda table: look(table, ids).sum())(table)
        return table - gradient * 0.25, value

    return step


def data(*shape: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A table of small integers, and positions of which many are the same."""
    random = np.random.default_rng(0)
    table = random.integers(-3, 4, (ROWS, FEATURES)).astype(np.float32)
    return table, random.integers(0, 20, (BATCH, *shape)).astype(np.int32) * 100


def parallelized(step: Any, devices: int, **config: Any) -> Any:
    return epl.parallelize(step, state="table", batch="ids", devices=devices, config=config)


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("shape", [(), (3,), (3, 2)], ids=len)
@pytest.mark.parametrize("name", LOOKS)
def test_every_lookup_has_the_bits_of_one_device(name: str, shape: tuple[int, ...], devices: int) -> None:
    step, (table, ids) = make(LOOKS[name]), data(*shape)
    expected, value = jax.jit(step)(table, ids)
    for config in ({}, DENSE):
        own = parallelized(step, devices, **config)
        found, own_value = own(table, ids)
        assert float(own_value) == float(value)
        assert np.array_equal(found, expected)
        tensors = exchanged(own.lower(found, ids).as_text("local"))
        sums = [each for each in tensors["all_reduce"] if str(ROWS) in each]
        assert len(sums) == (1 if config else 0)
        assert ("all_gather" in tensors) != bool(config)


def test_rows_are_added_in_the_order_of_the_batch() -> None:
    """So floats, too, have the bits of one device."""
    random = np.random.default_rng(1)
    table = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
    ids = random.integers(0, 3, (64,)).astype(np.int32)
    step = make(lambda table, ids: jnp.tanh(table[ids]))
    one, _ = parallelized(step, 1)(table, ids)
    for devices in (2, 4):
        found, _ = parallelized(step, devices)(table, ids)
        assert np.array_equal(found, one)


def test_fewer_bytes_are_moved() -> None:
    """A device gets the rows and positions of the others, and no table."""
    step, (table, ids) = make(squeezed), data()
    lowered = parallelized(step, 4).lower(table, ids)
    assert sorted(exchanged(lowered.as_text("local"))["all_gather"]) == ["16x8xf32", "16xi32"]


@pytest.mark.parametrize(
    ("look", "rows"),
    [
        (lambda table, ids: jnp.tanh(table[ids]) @ table.T, ROWS),  # a tied head, whose gradient is a product
        (lambda table, ids: jax.nn.one_hot(ids, ROWS) @ table, ROWS),
        (squeezed, 20),  # more positions than rows
    ],
    ids=["tied", "one hot", "small"],
)
def test_what_stays_a_sum(look: Look, rows: int) -> None:
    table, ids = data(4)
    step = make(look)
    text = parallelized(step, 2).lower(table[:rows], ids.ravel() % rows).as_text("local")
    assert "all_gather" not in exchanged(text)
    assert any(each.startswith(f"{rows}x") for each in exchanged(text)["all_reduce"])


def model(config: dict[str, Any], devices: int) -> tuple[Any, Any, Any]:
    """The state of a small model and its losses after three steps."""
    optimizer = optax.adam(1e-2, eps=1e-3)

    def loss(params: Any, ids: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(params["table"][ids]).sum(1) @ params["w"] - y) ** 2)

    def step(params: Any, opt_state: Any, ids: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, ids, y)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    random = np.random.default_rng(2)
    params = {
        "table": random.normal(size=(ROWS, FEATURES)).astype(np.float32),
        "w": random.normal(size=(FEATURES, 4)).astype(np.float32),
    }
    own = epl.parallelize(
        step, state=("params", "opt_state"), batch=("ids", "y"), devices=devices, config=config
    )
    state, losses = (params, optimizer.init(params)), []
    for _ in range(3):
        ids = random.integers(0, ROWS, (BATCH, 3)).astype(np.int32)
        *state, value = own(*state, ids, random.normal(size=(BATCH, 4)).astype(np.float32))
        losses.append(float(value))
    return own, jax.tree.map(np.asarray, tuple(state)), losses


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"zero.level": "v1"},
        {"zero.level": "v3"},
        {"zero.owner": "parameter"},
        {"pipeline.num_micro_batch": 2},
        {"communication.fuse": False},
    ],
    ids=str,
)
def test_training_is_that_of_one_device(config: dict[str, Any]) -> None:
    _, expected, losses = model({}, 1)
    own, found, own_losses = model(config, 4)
    np.testing.assert_allclose(own_losses, losses, rtol=1e-5)
    assert_close(found, expected, 1e-4)
    kinds = exchanged(own.newest.as_text("local"))
    summed = [*kinds.get("all_reduce", []), *kinds.get("reduce_scatter", []), *kinds.get("reduce", [])]
    assert not any(each.startswith(str(ROWS)) for each in summed)


def train_in_processes() -> None:
    """Every process has the bits of one device, and says so."""
    epl.init("cpu:2")
    step, (table, ids) = make(squeezed), data(3)
    expected, _ = jax.jit(step)(table, ids)
    found, _ = epl.parallelize(step, state="table", batch="ids")(table, ids)
    assert np.array_equal(epl.gather(found), expected)
    print("has the bits of one device")


def test_in_two_processes(tmp_path: Path) -> None:
    printed = mpi.call(2, "test_embedding_gradients", "train_in_processes", folder=tmp_path)
    assert printed.count("has the bits of one device") == 2
