"""Steps of all kinds that look up tables, beside the same with embeddings."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import epl
from epl.servers import connection
from table_steps import (
    DIM,
    IDS,
    SYNC,
    Dense,
    assert_dense,
    batches,
    descend,
    first_params,
    parallel,
    plain_loss,
    rows_of,
    squares,
    table,
    train,
    train_densely,
)

pytestmark = pytest.mark.usefixtures("own_servers")
AXIS = "device"


# --- padded batches ---


def padding_step(*, weighs: bool = True) -> Any:
    def step(params: Any, user: Any, ids: Any, y: Any, mask: Any = None) -> Any:
        def loss_fn(params: Any, user: Any) -> Any:
            with epl.replicate():
                losses = squares(params, user, ids, y)
                return (losses * mask).sum() / mask.sum() if weighs else losses.mean() + 0 * mask.sum()

        loss, (grads, rows) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, user)
        return descend(params, grads), user.update(rows), loss, y * 2

    names = {"state": ("params", "user"), "batch": ("ids", "y"), "strategy": SYNC}
    return epl.parallelize(step, devices="cpu:2", pad_batch=True, **names)


def test_smaller_batches_are_padded() -> None:
    step, params, user = padding_step(), first_params(), table()
    given = [(ids[:size], y[:size]) for (ids, y), size in zip(batches(5), (8, 5, 8, 5, 5), strict=True)]
    losses = []
    for ids, y in given:
        params, user, loss, twice = step(params, user, ids, y)
        np.testing.assert_array_equal(twice, 2 * y)
        losses.append(float(loss))
    assert len(step._lowered) == 1
    assert connection.current().step - connection.current()._first == len(given)  # trying one is no step
    assert_dense((jax.tree.map(np.asarray, params), user, losses), given)


def test_padding_that_counts_is_found() -> None:
    step = padding_step(weighs=False)
    (ids, y), (other, z) = batches(2)
    params, user, *_ = step(first_params(), table(), ids, y)
    with pytest.raises(epl.ArgumentError, match=r'pad_batch: ".*" of step depends on what a batch is padded'):
        step(params, user, other[:5], z[:5])


def test_gradients_of_rows_that_padding_changes_are_found() -> None:
    """Where nothing else does."""

    def step(user: Any, ids: Any, y: Any, mask: Any = None) -> Any:
        rows = jax.grad(lambda user: (jnp.tanh(user.lookup(ids)) * y[:, None, None]).sum())(user)
        return user.update(rows), mask.sum()

    made = epl.parallelize(
        step, devices="cpu:1", state="user", batch=("ids", "y"), strategy=SYNC, pad_batch=True
    )
    ids, y = batches(1)[0]
    user, _ = made(table(), ids, y)
    with pytest.raises(
        epl.ArgumentError, match='pad_batch: "gradient of table user" of step depends on what'
    ):
        made(user, ids[:5], y[:5])


def test_padding_of_dense_steps_is_tried_without_a_step() -> None:
    def step(params: Any, x: Any, mask: Any = None) -> Any:
        grads = jax.grad(lambda p: (jnp.tanh(x @ p["w"]) * mask).sum() / mask.sum())(params)
        return descend(params, grads)

    made = epl.parallelize(step, devices="cpu:2", state="params", batch="x", strategy=SYNC, pad_batch=True)
    x = np.random.default_rng(0).normal(size=(8, DIM)).astype(np.float32)
    params, expected = first_params(), first_params()
    for size in (8, 5, 7):
        params = made(params, x[:size])
        expected = jax.jit(step)(expected, x[:size], np.ones(size, bool))
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-5)


# --- steps of one device ---


def device_step(devices: str, groups: int = 1, scale: Any = None, loss_fn: Any = squares) -> Any:
    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        def own_loss(params: Any, user: Any) -> Any:
            return loss_fn(params, user, ids, y).mean()

        loss, (grads, rows) = jax.value_and_grad(own_loss, argnums=(0, 1))(params, user)
        grads = lax.pmean(grads, AXIS)
        count = lax.axis_size(AXIS)
        rows = scale(rows) if scale else jax.tree.map(lambda row: row / count, rows)
        return descend(params, grads), user.update(rows), loss

    names = {"state": ("params", "user"), "batch": ("ids", "y"), "strategy": SYNC}
    per_device = (AXIS, groups) if groups > 1 else AXIS
    return epl.parallelize(step, devices=devices, per_device=per_device, **names)


def mapped_squares(params: Any, user: Any, ids: Any, y: Any) -> Any:
    """The same, one sample at a time."""

    def of_one(ids: Any, y: Any) -> Any:
        return (jnp.tanh(user.lookup(ids)).mean(0) @ params["w"] - y) ** 2

    return jax.vmap(of_one)(ids, y)


@pytest.mark.parametrize(
    ("devices", "groups", "loss_fn"),
    [("cpu:1", 1, squares), ("cpu:2", 1, squares), ("cpu:4", 2, squares), ("cpu:2", 1, mapped_squares)],
)
def test_each_device_looks_up_its_part(devices: str, groups: int, loss_fn: Any) -> None:
    given = batches(3)
    step, params, user, losses = device_step(devices, groups, loss_fn=loss_fn), first_params(), table(), []
    for batch in given:
        params, user, loss = step(params, user, *batch)
        losses.append(float(np.mean(loss)))
    assert [lookup.batch_dim for lookup in step.newest.tables.lookups] == [0]
    assert_dense((jax.tree.map(np.asarray, params), user, losses), given)


def test_gradients_of_rows_are_each_devices_own() -> None:
    step = device_step("cpu:2", scale=lambda rows: lax.pmean(rows, AXIS))
    with pytest.raises(
        epl.StateError, match=r'gradient "user.lookup0" of step is the same on all devices, and each has'
    ):
        step.lower(first_params(), table(), *batches(1)[0])


def test_ids_that_devices_share_have_one_gradient() -> None:
    def loss_fn(params: Any, user: Any, ids: Any, y: Any) -> Any:
        return (user.lookup(jnp.int32([3, 1])).sum() * params["w"].sum() - y) ** 2 + 0 * ids.sum()

    with pytest.raises(epl.StateError, match=r'state "user.lookup0" of step depends on the device'):
        device_step("cpu:2", loss_fn=loss_fn).lower(first_params(), table(), *batches(1)[0])
    step = device_step("cpu:2", scale=lambda rows: lax.pmean(rows, AXIS), loss_fn=loss_fn)
    given = batches(2)
    _, user, _ = _train_parts(step, given)

    def whole(params: Any, user: Any, ids: Any, y: Any) -> Any:
        return loss_fn(params, user, ids, y).mean()

    _, rows, _ = train_densely(optax.sgd(0.25), given, whole)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)


def _train_parts(step: Any, given: Any) -> Any:
    params, user = first_params(), table()
    for batch in given:
        params, user, loss = step(params, user, *batch)
    return params, user, loss


# --- lookups under transformations of JAX ---


def mapped(params: Any, user: Any, ids: Any, y: Any) -> Any:
    with epl.replicate():
        return mapped_squares(params, user, ids, y).mean()


def mapped_twice(params: Any, user: Any, ids: Any, y: Any) -> Any:
    """Along other dimensions, computed again, and with a table that is an argument."""
    with epl.replicate():
        look = jax.checkpoint(jax.jit(lambda user, i: jnp.tanh(user.lookup(i))))
        rows = jax.vmap(jax.vmap(look, (None, 0)), (None, 1), 1)(user, ids)
        return jnp.mean((rows.mean(1) @ params["w"] - y) ** 2)


@pytest.mark.parametrize("loss_fn", [mapped, mapped_twice])
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:2"])
def test_lookups_are_mapped(loss_fn: Any, devices: str) -> None:
    given = batches(3)
    step = parallel(loss_fn, devices)
    found = train(step, table(), given)
    assert_dense(found, given, plain_loss)


def test_mapped_ids_have_64_bits() -> None:
    ids, y = batches(1)[0]
    step = parallel(mapped)
    _, user, _ = step(first_params(), table(), ids + 2**40, y)
    assert (rows_of(user, ids + 2**40) != 0.5).all()


def test_gradients_of_single_elements_are_refused() -> None:
    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        def of_one(ids: Any, y: Any) -> Any:
            return jax.grad(lambda user: (user.lookup(ids).sum() - y) ** 2)(user)

        return params, user.update(jax.vmap(of_one)(ids, y)), y.sum()

    made = epl.parallelize(step, devices="cpu:1", state=("params", "user"), batch=("ids", "y"), strategy=SYNC)
    with pytest.raises(epl.UnsupportedError, match=r"test_table_steps\.py:\d+: the gradient of a table is"):
        made.lower(first_params(), table(), *batches(1)[0])


def test_gradients_are_accumulated_by_hand() -> None:
    """Rows are looked up before the loop over parts of the batch, and `jax.vjp` gives their gradient."""

    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        rows, pull = jax.vjp(lambda user: user.lookup(ids), user)

        def part(total: Any, each: Any) -> Any:
            def loss_fn(params: Any, rows: Any) -> Any:
                return jnp.mean((jnp.tanh(rows).mean(1) @ params["w"] - each[1]) ** 2)

            loss, (grads, found) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, each[0])
            return jax.tree.map(jnp.add, total, (grads, loss)), found

        zeros = jax.tree.map(jnp.zeros_like, params), jnp.float32(0)
        (grads, loss), found = lax.scan(part, zeros, (rows.reshape(2, 4, 3, DIM), y.reshape(2, 4)))
        (gradient,) = pull(found.reshape(rows.shape) / 2)
        return descend(params, jax.tree.map(lambda g: g / 2, grads)), user.update(gradient), loss / 2

    names = {"state": ("params", "user"), "batch": ("ids", "y"), "strategy": SYNC}
    given = batches(3)
    assert_dense(train(epl.parallelize(step, devices="cpu:1", **names), table(), given), given)


def test_values_of_micro_batches_are_collected() -> None:
    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        loss, (grads, rows) = jax.value_and_grad(plain_loss, argnums=(0, 1))(params, user, ids, y)
        epl.add_to_collection(loss, epl.GraphKeys.LOCAL_CONCAT_OBJECTS)
        return descend(params, grads), user.update(rows), loss

    names = {"state": ("params", "user"), "batch": ("ids", "y"), "strategy": SYNC}
    config = epl.Config({"pipeline.num_micro_batch": 2})
    made = epl.parallelize(step, devices="cpu:2", config=config, **names)
    ids, y = batches(1)[0]
    *_, losses = made(first_params(), table(), ids, y)
    user = Dense(np.full((IDS, DIM), 0.5, np.float32))
    expected = [squares(first_params(), user, ids[i], y[i]).mean() for i in (np.s_[:4], np.s_[4:])]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
