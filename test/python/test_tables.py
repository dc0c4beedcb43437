"""Tables that servers hold, in steps of one worker whose server is in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from epl.servers import connection
from table_steps import (
    DIM,
    IDS,
    OPTIMIZERS,
    SYNC,
    Dense,
    alone,
    batches,
    first_params,
    parallel,
    plain_loss,
    rows_of,
    table,
    train,
    train_densely,
)

pytestmark = pytest.mark.usefixtures("own_servers")


@pytest.mark.parametrize("name", ["sgd", "adagrad"])
def test_a_table_has_the_bits_of_an_embedding(name: str) -> None:
    given = batches(6)
    params, user, losses = train(parallel(), table(OPTIMIZERS[name]()), given)
    expected, rows, others = train_densely(OPTIMIZERS[name](), given)
    assert losses == others
    np.testing.assert_array_equal(params["w"], expected["w"])
    np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), rows)


def test_counts_are_those_of_a_row() -> None:
    """Adam, by NumPy: a row's moments decay where it is looked up, and its count counts that."""
    rate, b1, b2, eps = 0.1, 0.9, 0.999, 1e-8
    step = alone(lambda user, ids, y: (user.lookup(ids) * y[:, None, None]).sum() / 8)
    given, user = batches(5, most=40), table(optax.adam(rate))
    for batch in given:
        user, _ = step(user, *batch)
    rows, m, v = np.full((40, DIM), 0.5), np.zeros((40, DIM)), np.zeros((40, DIM))
    count = np.zeros(40)
    for ids, y in given:
        gradient = np.zeros((40, DIM))
        np.add.at(gradient, ids, np.repeat(y / 8, 3 * DIM).reshape(8, 3, DIM))
        for i in np.unique(ids):
            count[i] += 1
            m[i] = b1 * m[i] + (1 - b1) * gradient[i]
            v[i] = b2 * v[i] + (1 - b2) * gradient[i] ** 2
            unbiased = m[i] / (1 - b1 ** count[i]), v[i] / (1 - b2 ** count[i])
            rows[i] -= rate * unbiased[0] / (np.sqrt(unbiased[1]) + eps)
    assert len(set(count)) > 2
    np.testing.assert_allclose(rows_of(user, np.arange(40)), rows, rtol=1e-4)


def several(params: Any, user: Any, ids: Any, y: Any) -> Any:
    """A column, others in another order, ids that are computed, and a constant one."""
    with epl.replicate():
        first = user.lookup(ids[:, 0])
        others = jax.checkpoint(lambda ids: jnp.tanh(user.lookup(ids)))(ids[:, ::-1].reshape(-1))
        hashed = user.lookup((ids[:, 1] * 5 + 1) % IDS)
        fixed = user.lookup(jnp.int32(3))
        joined = jnp.tanh(first + others.reshape(len(y), 3, DIM).sum(1) + hashed * fixed)
        return jnp.mean((joined @ params["w"] - y) ** 2)


def test_a_step_looks_up_what_it_computes() -> None:
    given = batches(4)
    params, user, losses = train(parallel(several), table(), given)
    expected, rows, others = train_densely(optax.sgd(0.25), given, several)
    np.testing.assert_allclose(losses, others, rtol=1e-4)
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-4)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)


@pytest.mark.parametrize("loss_fn", [plain_loss, several])
@pytest.mark.parametrize(
    ("devices", "config"),
    [("cpu:2", {}), ("cpu:1", {"pipeline.num_micro_batch": 2}), ("cpu:2", {"pipeline.num_micro_batch": 2})],
)
def test_rows_are_shared_as_batches_are(loss_fn: Any, devices: str, config: Any) -> None:
    given = batches(3)
    step = parallel(loss_fn, devices, config=epl.Config(config))
    params, user, losses = train(step, table(), given)
    expected, rows, others = train_densely(optax.sgd(0.25), given, loss_fn)
    np.testing.assert_allclose(losses, others, rtol=1e-4)
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-4)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)
    dims = [lookup.batch_dim for lookup in step.newest.tables.lookups]
    assert dims == ([0] if loss_fn is plain_loss else [0, 0, 0, None])


def split_loss(params: Any, user: Any, ids: Any, y: Any) -> Any:
    with epl.split(device_count=2):
        return jnp.mean((jnp.tanh(user.lookup(ids)).mean(1) @ params["w"] - y) ** 2)


def test_a_split_step_has_a_table() -> None:
    given = batches(3)
    _, user, losses = train(parallel(split_loss, "cpu:2"), table(), given)
    _, rows, others = train_densely(optax.sgd(0.25), given)
    np.testing.assert_allclose(losses, others, rtol=1e-4)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)


def test_other_ids_compile_nothing() -> None:
    step, params, user = parallel(several), first_params(), table()
    newest = []
    for ids, y in batches(3):
        params, user, _ = step(params, user, ids, y)
        newest.append(step.newest)
    assert newest == newest[:1] * 3


@pytest.mark.parametrize(
    "picks", [lambda ids: ids, lambda ids: ids[:, :2].T, lambda ids: jnp.concatenate([ids, ids])]
)
def test_ids_have_64_bits(picks: Callable[[Any], Any]) -> None:
    step = alone(lambda user, ids, y: (user.lookup(picks(ids)) * y[0]).sum())
    ids = np.arange(24).reshape(8, 3) + 2**40
    user, _ = step(table(), ids, np.ones(8, np.float32))
    assert (rows_of(user, ids[:, 0]) != 0.5).all()
    assert (rows_of(user, np.arange(24)) == 0.5).all()


def test_what_is_computed_of_ids_has_the_bits_of_jax() -> None:
    step = alone(lambda user, ids, y: (user.lookup(ids // 2) * y[0]).sum())
    with pytest.raises(
        epl.ArgumentError, match=r'values of "ids", .* table "user", must fit int32, .* found 109'
    ):
        step(table(), np.full((8, 3), 2**40), np.ones(8, np.float32))
    step = alone(lambda user, ids, y: (user.lookup(np.array([2**40])) * y[0]).sum())
    with pytest.raises(epl.ArgumentError, match='ids of table "user" that are no batch must fit int32'):
        step(table(), *batches(1)[0])


def test_padding_has_no_row() -> None:
    step = alone(lambda user, ids, y: (user.lookup(ids) * (y[:, None, None] + 1)).sum())
    ids = np.array([[0, -7], [1, -7]])
    user, loss = step(table(padding=-7), ids, np.zeros(2, np.float32))
    assert loss == 2 * DIM * 0.5
    rows = rows_of(user, np.array([0, -7, 1]))
    np.testing.assert_array_equal(rows, np.float32([0.25, 0, 0.25])[:, None] * np.ones(DIM, np.float32))


def test_rows_are_admitted_when_they_have_been_seen() -> None:
    step = alone(lambda user, ids, y: user.lookup(ids).sum() + y.sum())
    user, seen = table(admit=2), []
    for ids in ([1, 2], [2, 2], [2, 3]):
        user, _ = step(user, np.array(ids), np.zeros(2, np.float32))
        seen.append(rows_of(user, np.arange(4))[:, 0].tolist())
    assert seen == [[0.5] * 4, [0.5, 0.5, 0.0, 0.5], [0.5, 0.5, -0.25, 0.5]]


def test_rows_are_exported_and_dropped(tmp_path: Path) -> None:
    step = alone(lambda user, ids, y: user.lookup(ids).sum() + y.sum())
    user = table()
    with pytest.raises(epl.ArgumentError, match='export of table "user" is called before the first call'):
        user.export(tmp_path / "all")
    for ids in ([5, 2**50], [7, 8], [7, 8]):
        user, _ = step(user, np.array(ids), np.zeros(2, np.float32))
        if ids[0] == 5:
            assert user.export(tmp_path / "all") == 2
    assert user.export(tmp_path / "changed", changed_only=True) == 2
    assert {file.suffix for file in (tmp_path / "changed").iterdir()} == {".safetensors"}
    assert user.evict(unseen=1) == 2
    assert rows_of(user, np.array([5, 2**50, 7]))[:, 0].tolist() == [0.5, 0.5, 0.0]
    with pytest.raises(
        epl.ArgumentError, match=r'"item" is none that the steps .* \("user"\): give the same'
    ):
        table(name="item").evict(unseen=1)
    with pytest.raises(epl.ArgumentError, match='unseen of table "user" must be an integer of 1 to'):
        user.evict(unseen=0)


def test_new_rows_follow_from_seed_and_id() -> None:
    step = alone(lambda user, ids, y: 0.0 * user.lookup(ids).sum() + y.sum())
    options = {"init": epl.uniform(0.25), "seed": 7}
    user, _ = step(table(**options), np.arange(2), np.zeros(2, np.float32))
    rows = rows_of(user, np.arange(100))
    connection.disconnect()
    connection._connection = None
    again, _ = step(table(**options), np.arange(100), np.zeros(100, np.float32))
    np.testing.assert_array_equal(rows_of(again, np.arange(100)), rows)
    assert np.abs(rows).max() <= 0.25
    assert len(np.unique(rows)) > 300


def test_evaluation_trains_nothing() -> None:
    """Neither a step without states, nor one that has a table as a constant."""

    def frozen(params: Any, user: Any, ids: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(plain_loss)(params, user, ids, y)
        return jax.tree.map(lambda p, g: p - 0.25 * g, params, grads), loss

    evaluate = epl.parallelize(plain_loss, devices="cpu:2", batch=("ids", "y"), strategy=SYNC)
    user, given = table(init=epl.uniform(0.5)), batches(1)[0]
    with pytest.raises(
        epl.ArgumentError, match=r'"user" has no rows before the first call .* call plain_loss'
    ):
        evaluate(first_params(), user, *given)
    params, user, _ = train(parallel(), user, [given])
    before = rows_of(user, np.arange(3 * IDS))
    expected = plain_loss(params, Dense(before), given[0] + IDS, given[1])
    np.testing.assert_allclose(evaluate(params, user, given[0] + IDS, given[1]), expected, rtol=1e-6)
    np.testing.assert_array_equal(rows_of(user, np.arange(3 * IDS)), before)
    with pytest.raises(epl.ArgumentError, match=r'"item" is none that the steps .* \("user"\)'):
        evaluate(params, table(name="item"), *given)
    connection.disconnect()
    connection._connection = None
    step = epl.parallelize(frozen, devices="cpu:1", state="params", batch=("ids", "y"), strategy=SYNC)
    for _ in range(2):
        params, loss = step(params, user, *given)
    rows = rows_of(user, np.arange(IDS))
    assert loss < plain_loss(first_params(), Dense(rows), *given) * 10
    assert np.abs(rows).max() <= 0.5


def test_tables_alone_are_trained() -> None:
    """A factorization: two tables, and no parameter beside them."""

    def factorize(user: Any, item: Any, left: Any, right: Any, y: Any) -> Any:
        def loss_fn(user: Any, item: Any) -> Any:
            return jnp.mean(((user.lookup(left) * item.lookup(right)).sum(1) - y) ** 2)

        loss, (users, items) = jax.value_and_grad(loss_fn, argnums=(0, 1))(user, item)
        return user.update(users), item.update(items), loss

    step = epl.parallelize(
        factorize, devices="cpu:2", state=("user", "item"), batch=("left", "right", "y"), strategy=SYNC
    )
    user = table(optax.adam(0.05), init=epl.normal(0.3), seed=1)
    item = table(optax.adam(0.05), "item", init=epl.normal(0.3), seed=2)
    left, right = np.divmod(np.arange(16), 4)
    losses = []
    for _ in range(60):
        user, item, loss = step(user, item, left, right, np.float32(left == right))
        losses.append(float(loss))
    assert losses[-1] < 0.2 * losses[0]


def test_optimizers_read_rows_and_begin_as_they_say() -> None:
    optimizer = optax.inject_hyperparams(optax.adamw)(learning_rate=0.125, weight_decay=0.5)
    step = alone(lambda user, ids, y: 0.0 * user.lookup(ids).sum() + y.sum())
    user, _ = step(table(optimizer), *batches(1)[0])
    rows = rows_of(user, batches(1)[0][0])
    np.testing.assert_allclose(rows, np.float32(0.5 - 0.125 * 0.5 * 0.5), rtol=1e-6)


def test_nans_in_a_step_with_tables_are_found() -> None:
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r'result "result\[1\]" holds nan'):
        alone(lambda user, ids, y: user.lookup(ids).sum() * 0 / (y.sum() * 0))(table(), *batches(1)[0])


def test_a_jitted_loss_has_one_lookup() -> None:
    given = batches(2)
    _, user, losses = train(parallel(jax.jit(plain_loss)), table(), given)
    _, rows, others = train_densely(optax.sgd(0.25), given)
    np.testing.assert_allclose(losses, others, rtol=1e-6)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)


def test_threads_evaluate_while_a_step_trains() -> None:
    """Each rows at a time, and right ones."""
    step, given = parallel(), batches(30)
    ids = np.arange(IDS)
    evaluate = epl.parallelize(
        lambda user, ids: user.lookup(ids), name="look", devices="cpu:1", batch="ids", strategy=SYNC
    )
    params, user, _ = step(first_params(), table(), *given[0])
    np.testing.assert_array_equal(evaluate(user, ids)[:, 0].shape, [IDS])
    has_ended = threading.Event()

    def look() -> int:
        count = 0
        while not has_ended.is_set():
            rows = np.asarray(evaluate(user, ids))
            assert np.abs(rows).max() < 2
            assert len(np.unique(rows)) > IDS / 2
            count += 1
        return count

    with ThreadPoolExecutor(3) as threads:
        looks = [threads.submit(look) for _ in range(3)]
        for batch in given[1:]:
            params, user, _ = step(params, user, *batch)
        has_ended.set()
        assert min(each.result() for each in looks) > 0
    expected, rows, _ = train_densely(optax.sgd(0.25), given)
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-4)
    np.testing.assert_allclose(evaluate(user, ids), rows, rtol=1e-4)
