"""Steps that look up a table, and the same with an embedding in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from epl.servers import connection
from epl.tables.keeping import KEEPING

IDS = 12
DIM = 4
SYNC = epl.ParameterServer(min_block_size=4)


class Dense(NamedTuple):
    """An embedding as an array, looked up as a table is."""

    rows: Any

    def lookup(self, ids: Any) -> Any:
        return self.rows[ids]


def table(optimizer: Any = None, name: str = "user", **options: Any) -> epl.Table:
    options = {"dim": DIM, "init": epl.constant(0.5), **options}
    return epl.Table(name, optimizer=optimizer or optax.sgd(0.25), **options)


def squares(params: Any, user: Any, ids: Any, y: Any) -> Any:
    """The losses of samples, as of `plain_loss`."""
    return (jnp.tanh(user.lookup(ids)).mean(1) @ params["w"] - y) ** 2


def descend(params: Any, grads: Any) -> Any:
    return jax.tree.map(lambda p, g: p - 0.25 * g, params, grads)


def plain_loss(params: Any, user: Any, ids: Any, y: Any) -> Any:
    with epl.replicate():
        rows = user.lookup(ids)
        return jnp.mean((jnp.tanh(rows).mean(1) @ params["w"] - y) ** 2)


def parallel(loss_fn: Callable[..., Any] = plain_loss, devices: str = "cpu:1", **options: Any) -> Any:
    """A step that trains `w` by SGD and a table by its optimizer."""

    def step(params: Any, user: Any, ids: Any, y: Any) -> Any:
        loss, (grads, rows) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, user, ids, y)
        params = jax.tree.map(lambda p, g: p - 0.25 * g, params, grads)
        return params, user.update(rows), loss

    names = {"state": ("params", "user"), "batch": ("ids", "y"), "strategy": SYNC}
    return epl.parallelize(step, devices=devices, **(names | options))


def alone(loss_fn: Callable[..., Any]) -> Any:
    """A step that trains a table, and no parameter beside it."""

    def step(user: Any, ids: Any, y: Any) -> Any:
        loss, rows = jax.value_and_grad(loss_fn)(user, ids, y)
        return user.update(rows), loss

    return epl.parallelize(step, devices="cpu:1", state="user", batch=("ids", "y"), strategy=SYNC)


def dense(optimizer: Any, loss_fn: Callable[..., Any] = plain_loss) -> Any:
    """The same with an embedding in the place of the table."""

    def step(params: Any, user: Any, state: Any, ids: Any, y: Any) -> Any:
        loss, (grads, rows) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, user, ids, y)
        params = jax.tree.map(lambda p, g: p - 0.25 * g, params, grads)
        moved, state = optimizer.update(rows, state, user)
        return params, optax.apply_updates(user, moved), state, loss

    return epl.parallelize(step, devices="cpu:1", state=("params", "user", "state"), batch=("ids", "y"))


def rows_of(user: epl.Table, ids: Any) -> Any:
    """The rows that servers have."""
    step = epl.parallelize(
        lambda user, ids: user.lookup(ids), name="rows", devices="cpu:1", batch="ids", strategy=SYNC
    )
    return np.asarray(step(user, ids))


def first_params() -> Any:
    return {"w": np.linspace(-1, 1, DIM, dtype=np.float32)}


def batches(count: int, size: int = 8, most: int = IDS) -> list[tuple[Any, Any]]:
    """Ids, many of them several times, and targets."""
    random = np.random.default_rng(5)
    return [
        (random.integers(0, most, (size, 3)), random.normal(size=size).astype(np.float32))
        for _ in range(count)
    ]


def train(step: Any, user: epl.Table, given: Any) -> tuple[Any, epl.Table, list[float]]:
    params, losses = first_params(), []
    for batch in given:
        params, user, loss = step(params, user, *batch)
        losses.append(float(loss))
    return jax.tree.map(np.asarray, params), user, losses


def train_densely(optimizer: Any, given: Any, loss_fn: Any = plain_loss) -> tuple[Any, Any, list[float]]:
    step, params, losses = dense(optimizer, loss_fn), first_params(), []
    user = Dense(np.full((IDS, DIM), 0.5, np.float32))
    state = optimizer.init(user)
    for batch in given:
        params, user, state, loss = step(params, user, state, *batch)
        losses.append(float(loss))
    return jax.tree.map(np.asarray, params), np.asarray(user.rows), losses


OPTIMIZERS = {
    "sgd": lambda: optax.sgd(0.25),
    "adagrad": lambda: optax.adagrad(0.05),
    "momentum": lambda: optax.sgd(0.1, momentum=0.9),
}


def restart() -> None:
    """What follows is another process to its servers."""
    connection.disconnect()
    connection._connection = None
    KEEPING.keeper = None


def names(folder: Path) -> list[str]:
    """Of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def assert_dense(found: Any, given: Any, loss_fn: Any = plain_loss) -> None:
    """What `train` has given is what a step with an embedding gives."""
    params, user, losses = found
    expected, rows, others = train_densely(optax.sgd(0.25), given, loss_fn)
    np.testing.assert_allclose(losses, others, rtol=1e-5)
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-4)
    np.testing.assert_allclose(rows_of(user, np.arange(IDS)), rows, rtol=1e-4)
