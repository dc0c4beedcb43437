"""A worker that exchanges frames of all kinds with its servers: `served_frames.py FOLDER [fail|leave]`."""

from __future__ import annotations

import sys
import time
from typing import Any

import jax
import numpy as np

import epl
from table_steps import batches, first_params, plain_loss, table

STEPS = 6


@epl.parallelize(
    state=("params", "moment", "user"),
    batch=("ids", "y"),
    strategy=epl.ParameterServer(min_block_size=2),
)
def train_step(params: Any, moment: Any, user: Any, ids: Any, y: Any) -> Any:
    """Momentum, and a table."""
    loss, (grads, rows) = jax.value_and_grad(plain_loss, argnums=(0, 1))(params, user, ids, y)
    moment = jax.tree.map(lambda m, g: m / 2 + g, moment, grads)
    return jax.tree.map(lambda p, m: p - m / 4, params, moment), moment, user.update(rows), loss


def exchange(folder: str, how: str = "") -> None:
    """Trains a table, adds up, fetches and exports; at the end worker 1 may fail, or leave too early."""
    epl.init("cpu:1")
    worker, workers = epl.workers.number, epl.workers.count
    params, user = first_params(), table()
    moment = jax.tree.map(np.zeros_like, params)
    assert epl.workers.sum(1) == workers
    for k, batch in enumerate(batches(STEPS)):
        if k == 3 and worker == 1:
            time.sleep(2.5)  # who has nothing else to say says that it is there
        params, moment, user, _ = train_step(params, moment, user, *batch)
        assert np.isfinite(np.asarray(moment["w"])).all()
    user.export(folder)
    if how and worker == 1:
        time.sleep(1)  # the other one awaits it
        if how == "leave":
            return
        raise ValueError("the data are bad")
    assert epl.workers.sum(worker) == workers * (workers - 1) // 2
    print(f"worker {worker} has exchanged all")


if __name__ == "__main__":
    exchange(*sys.argv[1:])
