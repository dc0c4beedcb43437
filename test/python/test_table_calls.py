"""What users see of steps with tables, and how such steps go together with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from epl.servers import connection
from epl.servers.rehearsal import Rehearsal
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


@pytest.mark.parametrize(
    ("devices", "config"), [("cpu:1", {}), ("cpu:2", {}), ("cpu:2", {"pipeline.num_micro_batch": 2})]
)
def test_check_compares_with_rows_of_one_device(
    devices: str, config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first step, and between steps, of which it is none."""
    (ids, y), (other, z) = batches(2)
    step, first = parallel(devices=devices, config=epl.Config(config)), first_params()
    user = table(init=epl.uniform(0.5))
    compiled = step.lower(first, user, ids, y).compile()
    report = compiled.check(first, user, ids, y)
    names = ["params['w']", "result[2]", "gradient of table user"]
    assert [each.name for each in report.differences] == names
    assert all(each.scale > 0 for each in report.differences)
    params, user, loss = step(first, user, ids, y)
    before = rows_of(user, np.arange(IDS)), np.asarray(params["w"])
    compiled.check(params, user, other, z)
    np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before[0])
    np.testing.assert_array_equal(params["w"], before[1])
    params, user, again = step(params, user, ids, y)
    assert again < loss
    updated = Rehearsal.updated

    def wrong(self: Any, *arguments: Any) -> Any:
        return {place: 1.01 * value for place, value in updated(self, *arguments).items()}

    monkeypatch.setattr(Rehearsal, "updated", wrong)
    with pytest.raises(epl.CheckError, match=r"step differs from its reference .*\nparams\['w'\]: differs"):
        compiled.check(params, user, other, z)


@pytest.mark.parametrize("mode", ["sync", "async", "dc_asgd", "geo"])
def test_check_of_a_step_without_tables_is_no_step(mode: Any) -> None:
    optimizer = optax.sgd(0.25) if mode == "dc_asgd" else optax.adam(0.1)

    def step(params: Any, state: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda p: (jnp.tanh(x @ p["w"]) + p["b"].sum()).mean())(params)
        moved, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, moved), state, loss

    strategy = epl.ParameterServer(mode=mode, min_block_size=4)
    made = epl.parallelize(step, devices="cpu:2", state=("params", "state"), batch="x", strategy=strategy)
    x = np.random.default_rng(0).normal(size=(8, DIM)).astype(np.float32)
    params = {**first_params(), "b": np.ones((3, 4), np.float32)}
    state = optimizer.init(params)
    compiled = made.lower(params, state, x).compile()
    compiled.check(params, state, x)
    for _ in range(2):
        params, state, _ = made(params, state, x)
        kept = jax.tree.map(np.asarray, params)
        compiled.check(params, state, x)
        jax.tree.map(np.testing.assert_array_equal, params, kept)


def test_check_of_an_evaluation() -> None:
    evaluate = epl.parallelize(plain_loss, devices="cpu:2", batch=("ids", "y"), strategy=SYNC)
    given = batches(2)
    params, user, _ = train(parallel(), table(init=epl.uniform(0.5)), given[:1])
    report = evaluate.lower(params, user, *given[1]).compile().check(params, user, *given[1])
    assert [each.name for each in report.differences] == ["result[0]"]


def test_gradients_of_recomputation_are_compared() -> None:
    config = epl.Config({"gradient_checkpoint.type": "auto", "gradient_checkpoint.check_gradients": True})
    given = batches(3)
    assert_dense(train(parallel(config=config), table(), given), given)


def test_what_is_printed_and_checked_of_rows(capfd: pytest.CaptureFixture[str]) -> None:
    def loss_fn(params: Any, user: Any, ids: Any, y: Any) -> Any:
        rows = user.lookup(ids)
        jax.debug.print("rows {}", rows.sum())
        epl.check(jnp.isfinite(y).all(), "y is {}", y)
        return jnp.mean((rows.mean((1, 2)) - y) ** 2) + 0 * params["w"].sum()

    step, (ids, y) = parallel(loss_fn, "cpu:2", debug=True), batches(1)[0]
    params, user, _ = step(first_params(), table(), ids, y)
    assert f"rows {ids.size * DIM * 0.5}" in capfd.readouterr().out
    y[3] = np.nan
    with pytest.raises(epl.StepError, match=r"test_table_calls\.py:\d+: y is") as raised:
        step(params, user, ids, y)
    params, user, _ = raised.value.results
    assert np.isnan(rows_of(user, ids)).any()


def test_a_step_with_a_table_is_explained(tmp_path: Path) -> None:
    step, given = parallel(devices="cpu:2"), (first_params(), table(), *batches(1)[0])
    lowered = step.lower(*given)
    assert "user.lookup0" in lowered.as_text("global")
    assert "sums over data" in lowered.explain()
    assert lowered.local_batch("ids") == slice(0, 8)
    compiled = lowered.compile()
    assert compiled.simulate().makespan > 0
    with compiled.trace(tmp_path / "t.json"):
        compiled(*given)
    assert "tanh" in (tmp_path / "t.json").read_text()


def test_a_key_and_a_count_beside_a_table() -> None:
    """Servers hold nothing of such a step but rows."""

    def step(key: Any, count: Any, user: Any, ids: Any, y: Any) -> Any:
        key, own = jax.random.split(key)

        def loss_fn(user: Any) -> Any:
            rows = jnp.tanh(user.lookup(ids))
            return jnp.mean((rows.sum((1, 2)) - y + jax.random.normal(own, y.shape)) ** 2)

        loss, rows = jax.value_and_grad(loss_fn)(user)
        return key, count + 1, user.update(rows), loss

    def dense(key: Any, user: Any, ids: Any, y: Any) -> Any:
        key, own = jax.random.split(key)

        def loss_fn(user: Any) -> Any:
            rows = jnp.tanh(user[ids])
            return jnp.mean((rows.sum((1, 2)) - y + jax.random.normal(own, y.shape)) ** 2)

        loss, rows = jax.value_and_grad(loss_fn)(user)
        return key, user - 0.25 * rows, loss

    names = {"batch": ("ids", "y"), "strategy": SYNC}
    made = epl.parallelize(step, devices="cpu:2", state=("key", "count", "user"), **names)
    key, count, user = jax.random.key(3), np.int32(0), table()
    expected_key, rows = key, np.full((IDS, DIM), 0.5, np.float32)
    for given in batches(3):
        key, count, user, loss = made(key, count, user, *given)
        expected_key, rows, expected = jax.jit(dense)(expected_key, rows, *given)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
    assert int(count) == 3
    assert (jax.random.key_data(key) == jax.random.key_data(expected_key)).all()
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)


def test_an_evaluation_keeps_sums() -> None:
    """A state that no gradient updates, in a step that only reads a table."""

    def evaluate(total: Any, params: Any, user: Any, ids: Any, y: Any) -> Any:
        return total + squares(params, user, ids, y).sum()

    given = batches(3)
    params, user, _ = train(parallel(), table(), given[:1])
    made = epl.parallelize(evaluate, devices="cpu:2", state="total", batch=("ids", "y"), strategy=SYNC)
    dense, total, expected = Dense(rows_of(user, np.arange(IDS))), np.float32(0), 0.0
    for batch in given:
        total = made(total, params, user, *batch)
        expected += float(squares(params, dense, *batch).sum())
    np.testing.assert_allclose(total, expected, rtol=1e-5)


def test_first_states_are_made_for_servers() -> None:
    optimizer = optax.adam(0.1)

    def init(key: Any) -> Any:
        params = {"w": jax.random.normal(key, (DIM, 3)), "b": jnp.zeros(3)}
        return params, optimizer.init(params), item

    def step(params: Any, state: Any, item: Any, x: Any, ids: Any) -> Any:
        def loss_fn(params: Any, item: Any) -> Any:
            return jnp.tanh((x + item.lookup(ids)) @ params["w"] + params["b"]).mean()

        grads, rows = jax.grad(loss_fn, argnums=(0, 1))(params, item)
        moved, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, moved), state, item.update(rows)

    names = {"state": ("params", "state", "item"), "batch": ("x", "ids"), "strategy": SYNC}
    made, item, key = epl.parallelize(step, devices="cpu:2", **names), table(name="item"), jax.random.key(2)
    x, ids = np.ones((8, DIM), np.float32), np.arange(8)
    params, state, _ = jax.eval_shape(init, key)
    found = epl.init_state(init, key, like=made.lower(params, state, item, x, ids))
    jax.tree.map(np.testing.assert_array_equal, found, jax.jit(init)(key))
    params, state, item = made(*made(*found, x, ids), x, ids)
    assert int(state[0].count) == 2


def test_what_servers_have_nothing_of_says_so() -> None:
    step = epl.parallelize(
        lambda n, y: (n + 1, y.sum()), name="count", devices="cpu:1", state="n", batch="y", strategy=SYNC
    )
    with pytest.raises(
        epl.CompileError, match=r"test_table_calls\.py:\d+: updates no state by work that applies gradients"
    ):
        step(np.int32(0), batches(1)[0][1])


def test_batches_of_other_sizes_train_the_same_table() -> None:
    step, evaluate = (
        parallel(),
        epl.parallelize(plain_loss, devices="cpu:1", batch=("ids", "y"), strategy=SYNC),
    )
    given = [(ids[:size], y[:size]) for (ids, y), size in zip(batches(4), (8, 4, 8, 2), strict=True)]
    params, user, losses = first_params(), table(), []
    for batch in given:
        before = float(evaluate(params, user, *batch)) if losses else None
        params, user, loss = step(params, user, *batch)
        losses.append(float(loss))
        assert before is None or abs(before - losses[-1]) < 1e-5
    assert len(step._lowered) == 3
    assert_dense((jax.tree.map(np.asarray, params), user, losses), given)


@pytest.mark.parametrize("mode", ["sync", "half_async", "async"])
def test_blocks_are_asked_for_before_rows_have_come(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Noted:
        """The connection's worker, whose pulls of rows are noted."""

        def __init__(self, worker: Any) -> None:
            self._worker = worker

        def __getattr__(self, name: str) -> Any:
            return getattr(self._worker, name)

        def pull_rows(self, step: int, requests: Any, meanwhile: Any = None) -> Any:
            def ask() -> None:
                events.append("rows are asked for")
                meanwhile()
                events.append("blocks are asked for")

            found = self._worker.pull_rows(step, requests, ask if meanwhile else None)
            events.append("rows have come")
            return found

    step, given = parallel(strategy=epl.ParameterServer(mode=mode, min_block_size=4)), batches(4)
    params, user, _ = step(first_params(), table(), *given[0])
    own = connection.current()
    assert own is not None
    monkeypatch.setattr(own, "_worker", Noted(own._worker))
    losses = []
    for batch in given[1:]:
        params, user, loss = step(params, user, *batch)
        losses.append(float(loss))
    assert events == ["rows are asked for", "blocks are asked for", "rows have come"] * 3
    if mode != "async":  # there updates may come later
        expected, _, others = train_densely(optax.sgd(0.25), given)
        np.testing.assert_allclose(losses, others[1:], rtol=1e-5)
        np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-4)


def test_a_step_that_is_refused_behind_its_rows_may_follow() -> None:
    """Its blocks, which were asked for, are dropped."""

    def step(params: Any, kept: Any, user: Any, ids: Any, y: Any) -> Any:
        loss, (grads, rows) = jax.value_and_grad(plain_loss, argnums=(0, 1))(params, user, ids, y)
        return descend(params, grads), kept + loss, user.update(rows), loss

    made = epl.parallelize(
        step, devices="cpu:1", state=("params", "kept", "user"), batch=("ids", "y"), strategy=SYNC
    )
    given, losses = batches(4), []
    kept: list[Any] = [np.float32(0)]
    params, user = first_params(), table()
    for batch in given:
        params, new, user, loss = made(params, kept[-1], user, *batch)
        losses.append(float(loss))
        kept.append(new)
        if len(kept) > 2:
            with pytest.raises(epl.DonatedError, match='state "kept" was donated'):
                made(params, kept[-2], user, *batch)
    assert_dense((jax.tree.map(np.asarray, params), user, losses), given)


def test_tables_differ_in_dtype_and_dim() -> None:
    """One of them is looked up twice, in other shapes."""

    def step(user: Any, item: Any, ids: Any, y: Any) -> Any:
        def loss_fn(user: Any, item: Any) -> Any:
            narrow = item.lookup(ids[:, 0]).astype(jnp.float32).sum(1)
            return jnp.mean((user.lookup(ids).sum((1, 2)) + user.lookup(ids[:, 1]).sum(1) + narrow - y) ** 2)

        loss, (users, items) = jax.value_and_grad(loss_fn, argnums=(0, 1))(user, item)
        return user.update(users), item.update(items), loss

    names = {"batch": ("ids", "y"), "strategy": SYNC}
    made = epl.parallelize(step, devices="cpu:2", state=("user", "item"), **names)
    rate = 2.0**-9
    user = table(optax.sgd(rate))
    item = table(optax.sgd(rate), "item", dim=6, dtype="bfloat16", init=epl.constant(0.25))
    users = np.full((IDS, DIM), 0.5, np.float32)
    items = jnp.full((IDS, 6), 0.25, jnp.bfloat16)

    def dense(users: Any, items: Any, ids: Any, y: Any) -> Any:
        def loss_fn(users: Any, items: Any) -> Any:
            narrow = items[ids[:, 0]].astype(jnp.float32).sum(1)
            return jnp.mean((users[ids].sum((1, 2)) + users[ids[:, 1]].sum(1) + narrow - y) ** 2)

        loss, found = jax.value_and_grad(loss_fn, argnums=(0, 1))(users, items)
        return users - rate * found[0], items - jnp.bfloat16(rate) * found[1], loss

    for batch in batches(4):
        user, item, loss = made(user, item, *batch)
        users, items, expected = jax.jit(dense)(users, items, *batch)
        np.testing.assert_allclose(loss, expected, rtol=2e-2)  # bfloat16
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), users, rtol=2e-2)
    found = rows_of(item, np.arange(IDS))
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.float32(found), np.float32(items), rtol=2e-2)


def test_two_steps_train_one_table() -> None:
    def absolute(params: Any, user: Any, ids: Any, y: Any) -> Any:
        with epl.replicate():
            return jnp.mean(jnp.abs(jnp.tanh(user.lookup(ids)).mean(1) @ params["w"] - y))

    given = batches(4)
    steps, params, user = [parallel(), parallel(absolute)], first_params(), table()
    rows, weights = np.full((IDS, DIM), 0.5, np.float32), first_params()["w"]
    for i, batch in enumerate(given):
        params, user, _ = steps[i % 2](params, user, *batch)

        def dense(weights: Any, rows: Any, i: int = i, batch: Any = batch) -> Any:
            return (plain_loss, absolute)[i % 2]({"w": weights}, Dense(rows), *batch)

        found = jax.grad(dense, argnums=(0, 1))(weights, rows)
        weights, rows = weights - 0.25 * found[0], rows - 0.25 * found[1]
    np.testing.assert_allclose(params["w"], weights, rtol=1e-4)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)


def test_states_that_are_not_donated_stay() -> None:
    """Those of the worker; of what servers hold there is one value."""

    def step(mean: Any, params: Any, user: Any, ids: Any, y: Any) -> Any:
        loss, (grads, rows) = jax.value_and_grad(plain_loss, argnums=(0, 1))(params, user, ids, y)
        return 0.5 * mean + y.mean(), descend(params, grads), user.update(rows), loss

    names = {"state": ("mean", "params", "user"), "batch": ("ids", "y"), "strategy": SYNC}
    made = epl.parallelize(step, devices="cpu:1", donate=False, **names)
    ids, y = batches(1)[0]
    mean, params, user, _ = made(np.float32(1), first_params(), table(), ids, y)
    kept = mean
    mean, params, user, _ = made(mean, params, user, ids, y)
    np.testing.assert_allclose(kept, 0.5 + y.mean(), rtol=1e-6)
    np.testing.assert_allclose(mean, 0.5 * kept + y.mean(), rtol=1e-6)
