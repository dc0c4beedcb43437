"""What a step may not do with a table, and what it is told."""

from __future__ import annotations

import contextlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from table_steps import IDS, SYNC, batches, first_params, parallel, plain_loss, rows_of, table, train

pytestmark = pytest.mark.usefixtures("own_servers")


OPTIMIZER = optax.sgd(0.25)


def in_loop(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return jax.lax.map(lambda own: user.lookup(own).sum(), ids).sum() + y.sum()


def in_branch(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return jax.lax.cond(y[0] > 0, lambda: user.lookup(ids).sum(), lambda: 0.0)


def of_a_state(params: Any, user: Any, ids: Any, y: Any) -> Any:
    return user.lookup(ids + jnp.int32(params["w"][0])).sum() + y.sum()


def of_rows(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return user.lookup(jnp.int32(user.lookup(ids))).sum() + y.sum()


def of_one_trace(_: Any, user: Any, ids: Any, y: Any) -> Any:
    look = jax.jit(lambda ids: user.lookup(ids))
    return (look(ids) + look(ids + 1)).sum() + y.sum()


def of_floats(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return user.lookup(y).sum() + ids.sum()


def of_large_numbers(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return user.lookup([3, 2**40]).sum() + y.sum() + ids.sum()


def of_numbers_that_are_none(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return user.lookup([2**70]).sum() + y.sum() + ids.sum()


def of_nothing(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return user.lookup(True).sum() + y.sum() + ids.sum()


@jax.custom_vjp
def looked_up(user: Any, ids: Any) -> Any:
    return user.lookup(ids).sum((1, 2))


looked_up.defvjp(
    lambda user, ids: (looked_up(user, ids), (user, ids)),
    lambda kept, g: (jax.vjp(lambda user: user.lookup(kept[1]).sum((1, 2)), kept[0])[1](g)[0], None),
)


def in_a_rule(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return ((looked_up(user, ids) - y) ** 2).sum()


CLOSED = table(name="closed")


def closing(_: Any, user: Any, ids: Any, y: Any) -> Any:
    return (CLOSED.lookup(ids) + user.lookup(ids)).sum() + y.sum()


@pytest.mark.parametrize(
    ("loss_fn", "expected"),
    [
        (in_loop, r"errors\.py:\d+: a table is looked up within scan: rows are pulled before"),
        (in_branch, r"errors\.py:\d+: a table is looked up within cond: rows are pulled before"),
        (of_a_state, r"""errors\.py:\d+: table "user" .* made of state "params\['w'\]": rows are"""),
        (of_rows, r'errors\.py:\d+: table "user" is looked up by ids that are made of rows'),
        (of_one_trace, r'errors\.py:\d+: table "user" .* traces once for several calls, with other ids'),
        (in_a_rule, r"errors\.py:\d+: a table is looked up where the step is differentiated and nowhere bef"),
        (of_floats, r'ids of table "user" must be integers, found float32\[8\]'),
        (
            of_large_numbers,
            r'ids of table "user" that are no batch must fit int32, .* found 3 to 1099511627776',
        ),
        (of_numbers_that_are_none, r'ids of table "user" must be integers, found object\[1\]'),
        (of_nothing, r'ids of table "user" must be integers, found bool\[\]'),
        (closing, r'table "closed" is closed over by the step: make it an argument'),
    ],
)
def test_lookups_that_are_not_known_before(loss_fn: Any, expected: str) -> None:
    with pytest.raises(epl.Error, match=expected):
        parallel(loss_fn).lower(first_params(), table(), *batches(1)[0])


def test_negative_ids_are_told() -> None:
    ids, y = batches(1)[0]
    ids[2, 1] = -3
    with pytest.raises(
        epl.ArgumentError, match=r'table_steps\.py:\d+: table "user" .* id -3 at \[2, 1\], expected ids'
    ):
        parallel()(first_params(), table(), ids, y)
    with pytest.raises(epl.ArgumentError, match=r"of 0 to 2\^63 - 1, or -1, its padding"):
        parallel()(first_params(), table(padding=-1), ids, y)
    with pytest.raises(
        epl.ArgumentError, match=r"ids of table .* 0 to 2\^63 - 1, found 18446744073709551615"
    ):
        parallel()(first_params(), table(), np.full((8, 3), 2**64 - 1, np.uint64), y)


def returning(what: str) -> Any:
    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        loss, (grads, rows) = jax.value_and_grad(plain_loss, argnums=(0, 1))(params, user, ids, y)
        params = jax.tree.map(lambda p, g: p - 0.25 * g, params, grads)
        if what == "nothing":
            return params, loss
        if what == "itself":
            return params, user, loss
        if what == "twice":
            return params, user.update(rows), user.update(rows)
        if what == "other":
            return params, user.update(user.lookup(ids)), loss
        if what == "values":
            return params, user.update(user), loss
        return params, user.update(rows).update(rows), loss

    return step


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("nothing", r'step must return table "user", which is in its state, as table\.update\(rows\)'),
        ("itself", r'step returns table "user" as it was given, expected table\.update\(rows\)'),
        ("twice", r'step returns table "user" twice'),
        ("other", r'table "user" must be updated by the gradient that jax\.grad gives for it, found'),
        ("values", r'table "user" must be updated by the gradient that jax\.grad gives for it, found'),
        ("again", r'table "user" is updated twice in a step'),
    ],
)
def test_a_trained_table_comes_back(what: str, expected: str) -> None:
    step = epl.parallelize(
        returning(what), devices="cpu:1", state=("params", "user"), batch=("ids", "y"), strategy=SYNC
    )
    with pytest.raises(epl.StateError, match=expected):
        step.lower(first_params(), table(), *batches(1)[0])


@pytest.mark.parametrize("how", ["plain", "scope", "jit", "vmap"])
def test_gradients_are_of_the_argument(how: str) -> None:
    """A table that the differentiated function closes over is none that JAX differentiates by."""

    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        def loss_fn(params: Any, table: Any) -> Any:
            with epl.replicate() if how == "scope" else contextlib.nullcontext():
                rows = jax.vmap(user.lookup)(ids) if how == "vmap" else user.lookup(ids)
                return jnp.sum((rows.sum((1, 2)) * params["w"].sum() - y) ** 2)

        function = jax.jit(loss_fn) if how == "jit" else loss_fn
        loss, (grads, rows) = jax.value_and_grad(function, argnums=(0, 1))(params, user)
        return jax.tree.map(lambda p, g: p - 0.25 * g, params, grads), user.update(rows), loss

    made = epl.parallelize(step, devices="cpu:1", state=("params", "user"), batch=("ids", "y"), strategy=SYNC)
    expected = r'errors\.py:\d+: table "user" is updated by gradients that are zeros .*: look up in the arg'
    with pytest.raises(epl.UnsupportedError, match=expected):
        made.lower(first_params(), table(), *batches(1)[0])


def test_a_table_that_is_read_does_not_come_back() -> None:
    step = epl.parallelize(
        returning("updated"), devices="cpu:1", state="params", batch=("ids", "y"), strategy=SYNC
    )
    with pytest.raises(epl.Error, match="updated twice"):
        step.lower(first_params(), table(), *batches(1)[0])
    step = epl.parallelize(lambda user, ids: user, devices="cpu:1", batch="ids", strategy=SYNC)
    with pytest.raises(epl.StateError, match='returns table "user", which is not in its state'):
        step.lower(table(), batches(1)[0][0])


def test_where_there_are_no_tables() -> None:
    given = (first_params(), table(), *batches(1)[0])
    with pytest.raises(
        epl.ArgumentError, match='"user" of step is held by parameter servers: give strategy='
    ):
        parallel(strategy=None).lower(*given)
    for mode in ("dc_asgd", "geo"):
        with pytest.raises(epl.UnsupportedError, match=f'mode "{mode}" of epl.ParameterServer has no tables'):
            parallel(strategy=epl.ParameterServer(mode=mode)).lower(*given)
    with pytest.raises(epl.ArgumentError, match='"user" is in batch "user" of rows: expected it in state'):
        epl.parallelize(
            lambda user, ids: user.lookup(ids),
            name="rows",
            devices="cpu:1",
            batch=("user", "ids"),
            strategy=SYNC,
        ).lower(given[1], given[2])
    two = epl.parallelize(
        lambda a, b, ids: a.lookup(ids) + b.lookup(ids),
        devices="cpu:1",
        batch="ids",
        strategy=SYNC,
        name="two",
    )
    with pytest.raises(epl.ArgumentError, match='table "user" is given to two twice, as "a" and as "b"'):
        two.lower(given[1], given[1], given[2])
    with pytest.raises(
        epl.ArgumentError, match='table "user" is the name of two tables, which are given to two'
    ):
        two.lower(given[1], table(dim=2), given[2])
    with pytest.raises(epl.ArgumentError, match='lookup of table "user" is called outside a step'):
        given[1].lookup(given[2])
    with pytest.raises(epl.Error, match='table "user" is no array'):
        np.asarray(given[1])


def test_what_is_another_table_than_the_trained_one_is_named() -> None:
    step, given, user = parallel(), batches(1)[0], table(OPTIMIZER)
    params, user, _ = step(first_params(), user, *given)
    params = jax.tree.map(np.asarray, params)
    for other, expected in [
        (table(OPTIMIZER, seed=5), "its seed is 5, expected 0; give the same epl.Table"),
        (table(OPTIMIZER, dim=2, rows=IDS), "its dim is 2, expected 4, rows is 12, expected None; give"),
        (table(optax.sgd(0.25)), "its optimizer is another object, as each call of optax makes one; give"),
    ]:
        with pytest.raises(epl.ArgumentError) as raised:
            rows_of(other, given[0])
        start = 'table "user" is another one than the steps of this process train: '
        assert str(raised.value).startswith(start + expected)
    start = "the servers of this process hold the parameters of another step: "
    for other, expected in [
        (table(OPTIMIZER, name="item"), 'table "item" is not among them; a process trains one set of'),
        (table(OPTIMIZER, padding=3), 'of table "user" the padding is 3, expected None; a process trains'),
    ]:
        with pytest.raises(epl.Error) as raised:
            parallel()(params, other, *given)
        assert str(raised.value).startswith(start + expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"name": ""}, "name of epl.Table must be a string, not empty, found ''"),
        ({"dim": 0}, 'dim of table "user" must be an integer of 1 to 2147483647, found 0'),
        ({"dim": 2.0}, 'dim of table "user" must be an integer, found 2.0'),
        ({"optimizer": "sgd"}, "optimizer of table \"user\" must be one of optax, found 'sgd'"),
        ({"init": 0.5}, 'init of table "user" must be epl.uniform'),
        ({"dtype": "int32"}, 'dtype of table "user" must be one of float32'),
        ({"padding": 2**63}, 'padding of table "user" must be an integer of'),
        ({"seed": -1}, 'seed of table "user" must be an integer of 0'),
        ({"admit": 0}, 'admit of table "user" must be an integer of 1'),
    ],
)
def test_a_table_says_what_is_wrong(options: Any, expected: str) -> None:
    with pytest.raises(epl.ArgumentError) as raised:
        table(**options)
    assert expected in str(raised.value)


def test_first_values_are_numbers() -> None:
    for make, expected in [
        (lambda: epl.uniform(-1), "scale of epl.uniform must be a finite number of at least 0, found -1"),
        (lambda: epl.normal(np.nan), "stddev of epl.normal must be a finite number of at least 0, found nan"),
        (lambda: epl.constant("1"), "value of epl.constant must be a finite number, found '1'"),
    ]:
        with pytest.raises(epl.ArgumentError) as raised:
            make()
        assert expected in str(raised.value)
    assert epl.zeros() == epl.zeros() != epl.constant(1)


RATES = jnp.linspace(0.1, 0.01, 400) ** 2
"""By the count of updates: too many for the text of a program."""


def optimizer_of(init: Any, update: Any) -> Any:
    return optax.GradientTransformation(init, update)


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (
            optimizer_of(lambda row: {"mean": row}, lambda g, s, _: (g, s)),
            "begins with the value of a row in",
        ),
        (optimizer_of(lambda _: jnp.zeros(()), lambda g, s, _: (g, (s,))), "gives its state as another tree"),
        (
            optimizer_of(lambda _: jnp.int32(0), lambda g, s, _: (g, s + 0.5)),
            r"keeps int32\[\] in .* float32\[\]",
        ),
        (optimizer_of(lambda _: np.int32(0), lambda g, s, _: (g * RATES[s], s + 1)), "closes over arrays"),
        (
            optimizer_of(lambda _: (), lambda g, s, _, *, value: (g * value, s)),
            r'errors\.py:\d+: the optimizer of table "user" must be one that updates a row float32\[4\] by '
            r"its gradient, found TypeError: .* 'value'",
        ),
        (
            optimizer_of(lambda row: jnp.linalg.inv(row), lambda g, s, _: (g, s)),
            "must be one that updates a row .*, found ValueError",
        ),
    ],
)
def test_optimizers_that_have_no_rows(optimizer: Any, expected: str) -> None:
    with pytest.raises(epl.UnsupportedError, match=expected):
        train(parallel(), table(optimizer), batches(1))
