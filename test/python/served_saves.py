"""Programs like those of `served` whose tables are saved and loaded: `served_saves.py NAME [ARGUMENT]`."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax

import epl
from served import (
    FAR,
    TABLE_DIM,
    WORKER,
    _process_of_server,
    _table_loss,
    _table_step,
    batch_of,
    integers,
)

ATTEMPT = int(os.environ.get("EPL_RESTART", "0"))
IDS = 40


def table(**options: Any) -> epl.Table:
    optimizer = optax.sgd(0.25, momentum=0.5)
    return epl.Table("user", dim=TABLE_DIM, optimizer=optimizer, init=epl.uniform(1), **options)


def begun(strategy: epl.ParameterServer) -> tuple[Any, Any, epl.Table]:
    """A step of a parameter and a table, and these as they are at first."""
    step = epl.parallelize(_table_step, state=("params", "user"), batch=("ids", "x"), strategy=strategy)
    return step, {"b": np.zeros(TABLE_DIM, np.float32)}, table()


def batches(count: int) -> tuple[Any, Any]:
    """Numbers and ids that are far apart, of all workers and steps."""
    x = integers(count)
    return x, FAR * np.random.default_rng(9).integers(0, IDS, (len(x), 3))


def digest(strategy: epl.ParameterServer, user: epl.Table, *more: Any) -> str:
    """Of all that servers have."""
    look = epl.parallelize(lambda user, ids: user.lookup(ids), name="look", batch="ids", strategy=strategy)
    rows = np.asarray(look(user, FAR * np.arange(IDS)))
    assert len(np.unique(rows)) > IDS
    return hashlib.sha256(b"".join(np.asarray(each).tobytes() for each in (rows, *more))).hexdigest()[:16]


def train(folder: str, begin: str, end: str, mode: str = "sync") -> None:
    """Trains a table from a save on, unless it begins with step 0; saves it, and says what it is then."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer(mode=mode)  # type: ignore[arg-type]

    def alone(user: Any, ids: Any, x: Any) -> Any:
        params = {"b": np.zeros(TABLE_DIM, np.float32)}
        loss, rows = jax.value_and_grad(_table_loss, argnums=1)(params, user, ids, x)
        return user.update(rows), loss

    step = epl.parallelize(alone, state="user", batch=("ids", "x"), strategy=strategy)
    user = table()
    x, ids = batches(int(end))
    if int(begin):
        user.load(folder)
    for k in range(int(begin), int(end)):
        user, _ = step(user, batch_of(k, WORKER, ids), batch_of(k, WORKER, x))
    rows = user.save(folder)
    assert (rows > 0) == (WORKER == 0)
    epl.workers.sum(0)  # nobody leaves, and nothing is trained, before that is done
    print(f"worker {WORKER} at {end}: {digest(strategy, user)}")


def plans(folder: str, does: str) -> None:
    """Trains with a step that another job has saved, or saves it, or neither."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer(min_block_size=2)
    step, params, user = begun(strategy)
    x, ids = batches(4)
    if does == "load":
        lowered = step.lower(params, user, batch_of(0, WORKER, ids), batch_of(0, WORKER, x))
        step = epl.load(f"{folder}/step.eplan", like=lowered)
    for k in range(4):
        params, user, _ = step(params, user, batch_of(k, WORKER, ids), batch_of(k, WORKER, x))
    if does == "save" and WORKER == 0:
        step.newest.compile().save(f"{folder}/step.eplan")
    print(f"worker {WORKER} {does}: {digest(strategy, user, params['b'])}")
    epl.workers.sum(0)


def reload(folder: str) -> None:
    """Loads, between steps, what was saved some steps before; all workers see it, and train on from it."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer()
    step, params, user = begun(strategy)
    x, ids = batches(9)
    digests = []
    for k in range(9):
        if k == 3:
            user.save(folder)
        if k in (3, 6):
            if k == 6:
                user.load(folder)
            digests.append(digest(strategy, user))
            epl.workers.sum(0)
        params, user, _ = step(params, user, batch_of(k, WORKER, ids), batch_of(k, WORKER, x))
    try:
        user.load(Path(folder) / "none" if WORKER == 0 else folder)
    except epl.Error as error:
        print(f"worker {WORKER}: {error}")
    print(f"worker {WORKER}: {digests[0] == digests[1]}, then {digest(strategy, user)}")


def resume(folder: str, steps: str, kill: str = "-1", how: str = "SIGKILL") -> None:
    """Trains from the last checkpoint on, and saves each second step; server 1 is lost once, in a step."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer(min_block_size=2)
    step, params, user = begun(strategy)
    x, ids = batches(int(steps))
    with epl.Checkpoints(folder, keep=2) as checkpoints:
        begin = checkpoints.latest or 0
        if begin:
            lowered = step.lower(params, user, batch_of(0, 0, ids), batch_of(0, 0, x))
            layout = epl.layout_of(lowered, (params, user))
            params, user = checkpoints.restore({"params": layout[0], "user": layout[1]}).values()
        print(f"worker {WORKER} begins with step {begin}")
        for k in range(begin, int(steps)):
            if (k, WORKER, ATTEMPT) == (int(kill), 0, 0):
                os.kill(_process_of_server("1"), getattr(signal, how))
            params, user, _ = step(params, user, batch_of(k, WORKER, ids), batch_of(k, WORKER, x))
            if k % 2 == 1:
                checkpoints.save(k + 1, {"params": params, "user": user})
        print(f"worker {WORKER} at {steps}: {digest(strategy, user, params['b'])}")
        epl.workers.sum(0)


def fail(folder: str) -> None:
    """Saves two checkpoints, of which a server does not live to see the second one."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer()
    step, params, user = begun(strategy)
    x, ids = batches(2)
    checkpoints = epl.Checkpoints(folder)
    for k in range(2):
        params, user, _ = step(params, user, batch_of(k, WORKER, ids), batch_of(k, WORKER, x))
        np.asarray(params["b"])
        if k == 1:
            os.kill(_process_of_server("1"), signal.SIGSTOP)
        try:
            checkpoints.save(k + 1, {"user": user})
            checkpoints.wait()
        except epl.ProcessError as error:
            print(f"not saved: {error}")
    names = sorted(path.name for path in Path(folder, "tables").iterdir())
    print(f"saved: {checkpoints.steps}, rows of {names}")
    sys.stdout.flush()
    os.kill(_process_of_server("1"), signal.SIGKILL)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
