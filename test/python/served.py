"""Programs that tests run as workers of parameter servers: `served.py NAME [ARGUMENT ...]`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl
from steps import assert_near

WORKER = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
WORKERS = int(os.environ.get("PADDLE_TRAINERS_NUM", "1"))
ROWS = 8
"""Of a worker's batch."""


def batch_of(step: int, worker: int, whole: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A worker's rows of a step's batch."""
    begin = (step * WORKERS + worker) * ROWS
    return whole[begin : begin + ROWS]


def integers(step: int) -> np.ndarray[Any, Any]:
    """Small integers: 16 columns, enough rows for all workers and steps before this one."""
    return np.random.default_rng(7).integers(-2, 3, (step * WORKERS * ROWS, 16)).astype(np.float32)


def make_exact(strategy: epl.ParameterServer) -> Any:
    """A step whose numbers are all exact in f32: gradients are sums of integers, rates powers of two."""

    def loss_of(params: Any, x: Any) -> Any:
        z = x @ params["w"] + params["b"]
        return jnp.sum(jax.lax.stop_gradient(jnp.round(z) % 4) * z) / x.shape[0]

    def exact(params: Any, moment: Any, x: Any) -> Any:
        with epl.replicate():
            loss, grads = jax.value_and_grad(loss_of)(params, x)
        moment = jax.tree.map(lambda m, g: jnp.round(m / 2) + g, moment, grads)
        params = jax.tree.map(lambda p, m: jnp.round((p - m / 4) * 64) / 64, params, moment)
        return params, moment, loss

    return exact, epl.parallelize(exact, state=("params", "moment"), batch=("x",), strategy=strategy)


def exact_params() -> Any:
    return {"w": np.arange(16 * 24, dtype=np.float32).reshape(16, 24) % 5, "b": np.zeros(24, np.float32)}


SLICES: dict[str, Any] = {
    "blocks": {"min_block_size": 48},
    "rows": {"min_block_size": 1},
    "whole": {"slice_up": False},
}
"""How parameters are cut."""


def train_exactly(servers: str, slices: str = "blocks", steps: str = "20") -> None:
    """Trains; compares with one device on the joined batch, bit by bit."""
    epl.init("cpu:2")
    function, step = make_exact(epl.ParameterServer(**SLICES[slices]))
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    x = integers(int(steps))
    for k in range(int(steps)):
        params, moment, _ = step(params, moment, batch_of(k, WORKER, x))
    found = jax.tree.map(np.asarray, (params, moment))
    plain, expected = jax.jit(function), (exact_params(), jax.tree.map(np.zeros_like, exact_params()))
    for k in range(int(steps)):
        whole = np.concatenate([batch_of(k, worker, x) for worker in range(WORKERS)])
        *expected, _ = plain(*expected, whole)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(tuple(expected)), strict=True):
        np.testing.assert_array_equal(one, other)
    print(f"worker {WORKER} of {WORKERS} with {servers} servers has the bits of one device")


def make_regression(strategy: epl.ParameterServer) -> Any:
    """A step with Adam."""
    optimizer = optax.adam(0.02)

    def regression(params: Any, opt_state: Any, x: Any, y: Any) -> Any:
        with epl.replicate():
            loss, grads = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2))(
                params
            )
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    state = ("params", "opt_state")
    step = epl.parallelize(regression, state=state, batch=("x", "y"), strategy=strategy)
    rng = np.random.default_rng(3)
    params = {
        "w": rng.normal(size=(16, 32)).astype(np.float32) / 4,
        "v": rng.normal(size=(32, 1)).astype(np.float32) / 4,
    }
    return regression, step, params, optimizer.init(params)


def _assert_near(found: Any, expected: Any) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-4, atol=1e-5)


def regress(
    mode: str,
    steps: str = "100",
    during: Callable[[int], None] = lambda step: None,
) -> None:
    """Trains with Adam; prints the variance of what is to be learned, and the last loss.

    Args:
      during: is called before each step.
    """
    epl.init("cpu:1")
    strategy = epl.ParameterServer(mode=mode, min_block_size=16, geo_steps=5)  # type: ignore[arg-type]
    function, step, params, opt_state = make_regression(strategy)
    first = (params, opt_state)
    x = integers(int(steps))
    y = x[:, :1] / 2
    losses = []
    for k in range(int(steps)):
        during(k)
        params, opt_state, loss = step(params, opt_state, batch_of(k, WORKER, x), batch_of(k, WORKER, y))
        losses.append(float(loss))
    print(f"worker {WORKER}: {np.var(y):.4f} to {np.mean(losses[-20:]):.4f}")
    if mode != "sync":
        return
    plain, expected = jax.jit(function), first
    for k in range(int(steps)):
        whole = [np.concatenate([batch_of(k, each, part) for each in range(WORKERS)]) for part in (x, y)]
        *expected, _ = plain(*expected, *whole)
    assert_near((params, opt_state), tuple(expected), 1e-5)
    print(f"worker {WORKER} has what one device has")


def _loss(params: Any, x: Any, y: Any) -> Any:
    with epl.replicate():
        return jnp.mean((jnp.tanh(x @ params["w"]) @ params["v"] - y) ** 2)


def _injected(make: Callable[..., Any]) -> Any:
    """An optimizer whose rate is an argument of the step."""
    optimizer = optax.inject_hyperparams(make)(learning_rate=0.0)

    def step(params: Any, opt_state: Any, x: Any, y: Any, rate: Any) -> Any:
        loss, grads = jax.value_and_grad(_loss)(params, x, y)
        opt_state.hyperparams["learning_rate"] = rate
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return step, optimizer.init


def _decayed() -> Any:
    """Decay by the norm of all gradients, which workers make."""

    def step(params: Any, count: Any, x: Any, y: Any, rate: Any) -> Any:
        loss, grads = jax.value_and_grad(_loss)(params, x, y)
        norm = optax.tree.norm(grads)
        params = jax.tree.map(lambda w, g: w - rate * (g / norm + 0.01 * norm * w), params, grads)
        return params, count + 1, loss

    return step, lambda params: np.int32(0)


def _average() -> Any:
    """A moving average of the parameters, which workers evaluate."""

    def step(params: Any, average: Any, x: Any, y: Any, rate: Any) -> Any:
        loss, grads = jax.value_and_grad(_loss)(params, x, y)
        found = _loss(average, x, y)
        params = jax.tree.map(lambda w, g: w - rate * g, params, grads)
        average = jax.tree.map(lambda a, w: a + (w - a) / 4, average, params)
        return params, average, (loss, found)

    return step, lambda params: jax.tree.map(np.copy, params)


STEPS: dict[str, Callable[[], Any]] = {
    "adam": lambda: _injected(optax.adam),
    "novograd": lambda: _injected(optax.novograd),
    "decayed": _decayed,
    "average": _average,
}


def _make_rated(which: str, mode: str = "sync") -> Any:
    """One of STEPS, the step that is trained with servers, and its first states."""
    function, init = STEPS[which]()
    strategy = epl.ParameterServer(mode=mode, min_block_size=16)  # type: ignore[arg-type]
    step = epl.parallelize(function, state=("params", 1), batch=("x", "y"), strategy=strategy)
    _, _, params, _ = make_regression(strategy)
    return function, step, (params, init(params))


def rate(which: str, mode: str = "sync", steps: str = "20") -> None:
    """Trains by one of STEPS with a rate that falls, in sync beside one device."""
    epl.init("cpu:1")
    function, step, state = _make_rated(which, mode)
    expected = state
    x = integers(int(steps))
    parts = (x, x[:, :1] / 2)
    rates = np.float32(0.02) / np.arange(1, int(steps) + 1, dtype=np.float32)
    plain = jax.jit(function)
    for k in range(int(steps)):
        *state, found = step(*state, *(batch_of(k, WORKER, part) for part in parts), rates[k])
        whole = [np.concatenate([batch_of(k, each, part) for each in range(WORKERS)]) for part in parts]
        *expected, best = plain(*expected, *whole, rates[k])
        if mode == "sync" and WORKERS == 1:
            _assert_near(found, best)
    if mode == "sync":
        _assert_near(state, expected)
        print(f"worker {WORKER} has what one device has")
    print(f"worker {WORKER} has trained")


def retune() -> None:
    """Changes a rate of decay between steps, of which servers have copies."""
    epl.init("cpu:1")
    _, step, state = _make_rated("adam")
    x = integers(1)[:ROWS]
    for _ in range(2):
        try:
            *state, _ = step(*state, x, x[:, :1], np.float32(0.1))
        except epl.ArgumentError as error:
            print(f"ArgumentError: {error}")
        state[1].hyperparams["b1"] = np.float32(0.5)


TABLE_ROWS, TABLE_DIM, FAR = 30, 4, 2**40


def _table_loss(params: Any, user: Any, ids: Any, x: Any) -> Any:
    """All numbers are exact in f32."""
    with epl.replicate():
        z = user.lookup(ids).sum(1) * x[:, :TABLE_DIM] + params["b"]
        return jnp.sum(jax.lax.stop_gradient(jnp.round(z) % 4) * z) / x.shape[0]


class Dense(NamedTuple):
    """A table's rows as an array."""

    rows: Any

    def lookup(self, ids: Any) -> Any:
        return self.rows[ids]


def _dense_step(params: Any, user: Any, ids: Any, x: Any) -> Any:
    loss, grads = jax.value_and_grad(_table_loss, argnums=(0, 1))(params, user, ids, x)
    return *jax.tree.map(lambda p, g: p - g / 4, (params, user), grads), loss


def _table_step(params: Any, user: Any, ids: Any, x: Any) -> Any:
    loss, (grads, rows) = jax.value_and_grad(_table_loss, argnums=(0, 1))(params, user, ids, x)
    return jax.tree.map(lambda p, g: p - g / 4, params, grads), user.update(rows), loss


def tables(mode: str = "sync", steps: str = "20") -> None:
    """Trains a table of ids that are far apart; in sync it is an embedding on one device."""
    epl.init("cpu:2")
    strategy = epl.ParameterServer(mode=mode, min_block_size=2)  # type: ignore[arg-type]
    user = epl.Table("user", dim=TABLE_DIM, optimizer=optax.sgd(0.25), init=epl.constant(1), padding=-1)
    step = epl.parallelize(_table_step, state=("params", "user"), batch=("ids", "x"), strategy=strategy)
    look = epl.parallelize(lambda user, ids: user.lookup(ids), name="look", batch="ids", strategy=strategy)
    params = {"b": np.zeros(TABLE_DIM, np.float32)}
    expected, dense = params, Dense(np.ones((TABLE_ROWS, TABLE_DIM), np.float32))
    x = integers(int(steps))
    ids = np.random.default_rng(9).integers(0, TABLE_ROWS - 2, (len(x), 3))
    plain = jax.jit(_dense_step)
    for k in range(int(steps)):
        params, user, _ = step(params, user, FAR * batch_of(k, WORKER, ids), batch_of(k, WORKER, x))
        whole = [np.concatenate([batch_of(k, each, part) for each in range(WORKERS)]) for part in (ids, x)]
        expected, dense, _ = plain(expected, dense, *whole)
    rows = np.asarray(look(user, FAR * np.arange(TABLE_ROWS)))
    np.testing.assert_array_equal(rows[-2:], 1)
    np.testing.assert_array_equal(look(user, np.array([-1, -1])), np.zeros((2, TABLE_DIM)))
    if mode == "sync":
        np.testing.assert_array_equal(rows, dense.rows)
        np.testing.assert_array_equal(np.asarray(params["b"]), expected["b"])
        print(f"worker {WORKER} has the rows of one device")
    assert (rows[:-2] != 1).any()
    print(f"worker {WORKER} has trained a table")


def geo(dtype: str) -> None:
    """Descends, and exchanges each second step; alone as one device does. The last batch is smaller."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer(mode="geo", geo_steps=2, min_block_size=2)
    function, _ = make_exact(strategy)
    state, batch = ("params", "moment"), "x"
    step = epl.parallelize(function, state=state, batch=batch, strategy=strategy)
    # What XLA rounds to 16 bits, and where, is its own affair.
    plain = jax.jit(function) if dtype == "float32" else epl.parallelize(function, state=state, batch=batch)
    params = jax.tree.map(lambda value: value.astype(dtype), exact_params())
    moment = jax.tree.map(np.zeros_like, params)
    expected = (params, moment)
    x = integers(7).astype(dtype)
    for k in range(7):
        rows = batch_of(k, WORKER, x)[: ROWS // 2 if k == 6 else ROWS]
        params, moment, _ = step(params, moment, rows)
        *expected, _ = plain(*expected, rows)
    for one, other in zip(jax.tree.leaves((params, moment)), jax.tree.leaves(tuple(expected)), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    print(f"worker {WORKER} has the bits of one device")


def resume(folder: str, begin: str, end: str) -> None:
    """Trains from a checkpoint, if there is one, and saves at the end; worker 0 prints what it has."""
    epl.init("cpu:1")
    _, step = make_exact(epl.ParameterServer(min_block_size=48))
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    x = integers(int(end))
    with epl.Checkpoints(folder) as checkpoints:
        if checkpoints.latest is not None:
            lowered = step.lower(params, moment, x[:ROWS])
            params, moment = checkpoints.restore(epl.layout_of(lowered))
        for k in range(int(begin), int(end)):
            params, moment, _ = step(params, moment, batch_of(k, WORKER, x))
        checkpoints.save(int(end), (params, moment))
        if WORKER == 0:
            values = [float(np.asarray(leaf).sum()) for leaf in jax.tree.leaves((params, moment))]
            print(f"at {end}: {values}")


def restore(folder: str) -> None:
    """Restores to one device, without servers."""
    epl.init("cpu:1")
    function, _ = make_exact(epl.ParameterServer())
    step = epl.parallelize(function, state=("params", "moment"), batch=("x",))
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    lowered = step.lower(params, moment, integers(1)[:ROWS])
    with epl.Checkpoints(folder) as checkpoints:
        restored = checkpoints.restore(epl.layout_of(lowered))
    print(f"at {checkpoints.latest}: {[float(np.asarray(leaf).sum()) for leaf in jax.tree.leaves(restored)]}")


def _process_of_server(number: str) -> int:
    """A server that the launcher of this process has started."""
    launcher = os.getppid()
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        command = Path(f"/proc/{child}/cmdline").read_text().split("\0")
        if command[0].endswith("epl-server") and command[command.index("--number") + 1] == number:
            return int(child)
    raise LookupError(f"the launcher {launcher} has no server {number}")


def fail(how: str, who: str, mode: str = "sync", steps: str = "400") -> None:
    """Trains; a worker, or (`server NUMBER`) a server, ends in step 20, one way or another."""
    kind, _, number = who.rpartition(" ")

    def during(step: int) -> None:
        if step != 20 or int(number if not kind else 0) != WORKER:
            return
        if how in ("SIGKILL", "SIGSTOP"):
            os.kill(_process_of_server(number) if kind else os.getpid(), getattr(signal, how))
        if how == "raise":
            raise ValueError("the data are bad")
        if how == "exit":
            sys.exit(3)

    regress(mode, steps, during)


def keep() -> None:
    """Updates a state without a gradient."""
    epl.init("cpu:1")

    def count(total: Any, x: Any) -> Any:
        return total + x.sum()

    strategy = epl.ParameterServer()
    epl.parallelize(count, state="total", batch="x", strategy=strategy)(np.float32(0), integers(1))


def differ() -> None:
    """Trains a model of another size in worker 1."""
    epl.init("cpu:1")
    _, step = make_exact(epl.ParameterServer())
    size = 24 if WORKER == 0 else 20
    params = {"w": np.ones((16, size), np.float32), "b": np.zeros(size, np.float32)}
    moment = jax.tree.map(np.zeros_like, params)
    for _ in range(3):
        params, moment, _ = step(params, moment, integers(1)[:ROWS])


def misuse() -> None:
    """What a program may do wrong with states that servers hold."""
    epl.init("cpu:1")
    _, step = make_exact(epl.ParameterServer())
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    x = integers(1)[:ROWS]
    new, moment, _ = step(params, moment, x)
    for wrong in (params, new):
        try:
            step(wrong, moment, x)
            newer, moment, _ = step(new, moment, x) if wrong is params else (None, None, None)
        except epl.Error as error:
            print(f"{type(error).__name__}: {error}")
            if wrong is params:
                newer, moment, _ = step(new, moment, x)
    print(repr(new["b"])[:40], newer["b"].shape, float(newer["b"].sum()) is not None)


def _events(path: Path) -> list[dict[str, Any]]:
    """The commands of a timeline, by their begins."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    return sorted((event for event in events if event["cat"] != "step"), key=lambda event: event["ts"])


def overlap(folder: str) -> None:
    """Worker 0 begins its second step, for which worker 1's first one is needed, when that has not begun."""
    epl.init("cpu:1")

    def loss_of(params: Any, x: Any) -> Any:
        z = jnp.sin(x)  # of the batch alone
        for name in sorted(params):
            z = jnp.tanh(z @ params[name])
        return jnp.mean(z)

    def step(params: Any, x: Any) -> Any:
        with epl.replicate():
            loss, grads = jax.value_and_grad(loss_of)(params, x)
        return jax.tree.map(lambda p, g: p - g / 4, params, grads), loss

    served = epl.parallelize(step, state="params", batch="x", strategy=epl.ParameterServer())
    x = integers(1)[:ROWS]
    params: Any = {f"w{i}": np.eye(16, dtype=np.float32) for i in range(3)}
    compiled = served.lower(params, x).compile()
    called, timeline = Path(folder, "called"), Path(folder, f"{WORKER}.json")
    if WORKER == 1:
        while not called.exists():
            time.sleep(0.01)
        time.sleep(0.5)
    params, _ = compiled(params, x)
    if WORKER == 0:
        called.touch()
    with compiled.trace(timeline):
        params, _ = compiled(params, x)
    events = _events(timeline)
    names = [event["name"] for event in events]
    computed = [event for event in events if event["cat"] == "compute"]
    pulls = [event for event in events if event["name"].startswith("pulled ")]
    if WORKER == 0:
        print("pulls", [event["name"] for event in pulls])
        print("pushes", [name for name in names if name.startswith("pushed ")])
        first = pulls[0]["ts"] + pulls[0]["dur"]
        print("computed before a pull had come:", computed[0]["ts"] + computed[0]["dur"] < first)
        pushed = next(number for number, name in enumerate(names) if name.startswith("pushed "))
        print("pushed before the last command:", pushed < events.index(computed[-1]))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
