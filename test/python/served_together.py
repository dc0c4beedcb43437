"""Programs like those of `served`, of what workers do together: `served_together.py NAME [ARGUMENT ...]`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

import epl
from epl import compile as compile_module
from epl import runtime
from epl.servers.gathering import is_late
from epl.servers.roles import read_role
from served import ROWS, WORKER, WORKERS, batch_of, exact_params, integers, make_exact


def add_up(how: str = "", who: str = "") -> None:
    """Adds up over the workers, before the first step and behind it; one of them may end another way."""
    epl.init("cpu:1")
    workers = epl.workers
    assert (workers.number, workers.count) == (WORKER, WORKERS)
    counts = workers.sum(np.arange(5) * 10**WORKER)
    np.testing.assert_array_equal(counts, np.arange(5) * int("1" * WORKERS))
    assert counts.dtype == np.arange(5).dtype
    values = [np.float32(0.1) * np.float32(each + 1) for each in range(WORKERS)]
    total = values[0]
    for value in values[1:]:
        total = total + value
    assert workers.sum(values[WORKER]) == total
    assert workers.sum(np.array([True, WORKER == 0])).tolist() == [WORKERS, 1]
    assert workers.mean(float(WORKER)) == (WORKERS - 1) / 2
    assert workers.sum(np.zeros((0, 3))).shape == (0, 3)
    _, step = make_exact(epl.ParameterServer())
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    params, moment, _ = step(params, moment, integers(1)[:ROWS])
    if str(WORKER) == who:
        if how == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "end":
            return
        if how == "differ":
            workers.sum(np.zeros(3))
    large = np.full(1 << 20, WORKER, np.int64)
    assert (workers.sum(large) == WORKERS * (WORKERS - 1) // 2).all()
    print(f"worker {WORKER} has the sums")


def end_early(who: str, how: str) -> None:
    """Workers of a list end before they have spoken to anybody; the others train."""
    epl.init("cpu:1")
    if str(WORKER) in who.split(","):
        if how == "raise":
            raise ValueError("there is no file")
        if how == "exit":
            sys.exit("no data")
        if how == "SIGKILL":
            assert not is_late(read_role(os.environ))  # servers know of it
            os.kill(os.getpid(), signal.SIGKILL)
        return
    _, step = make_exact(epl.ParameterServer())
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    for batch in (integers(1)[:ROWS], integers(2)[:ROWS]):
        params, moment, _ = step(params, moment, batch)
    print(f"worker {WORKER} has trained")


def lose_early(mode: str, how: str, folder: str = "") -> None:
    """Worker 1 is killed before its first step; of `how` "once" in the first start of the job alone.

    Of "compiles" worker 0 has a compiler that does not end.
    """
    epl.init("cpu:1")
    epl.workers.sum(WORKER)
    if WORKER == 1 and (how != "once" or os.environ.get("EPL_RESTART", "0") == "0"):
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "compiles":
        compiler = Path(folder) / "epl-compile"
        compiler.write_text("#!/bin/sh\nexec sleep 100\n")
        compiler.chmod(0o755)
        os.environ["EPL_COMPILE"] = str(compiler)
    _, step = make_exact(epl.ParameterServer(mode=mode))  # type: ignore[arg-type]
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    for _ in range(3):
        params, moment, _ = step(params, moment, integers(1)[:ROWS])
    assert np.isfinite(np.asarray(params["w"])).all()
    print(f"worker {WORKER} has trained", flush=True)


def poison(mode: str, how: str) -> None:
    """Trains; of worker 1 a batch has a NaN, which it skips, or which ends it."""
    epl.init("cpu:1")
    strategy = epl.ParameterServer(mode=mode, min_block_size=48, check_finite=True)  # type: ignore[arg-type]
    function, step = make_exact(strategy)
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    x = integers(6)
    for k in range(6):
        own = batch_of(k, WORKER, x)
        if k == 3 and WORKER == 1:
            bad = own.copy()
            bad[2, 5] = np.nan
            try:
                step(params, moment, bad)
            except epl.StepError as error:
                print(f"worker {WORKER} skips: {error}", flush=True)
                if how == "raise":
                    raise
        params, moment, _ = step(params, moment, own)
    found, expected = (params, moment), (exact_params(), jax.tree.map(np.zeros_like, exact_params()))
    for k in range(6):
        *expected, _ = jax.jit(function)(*expected, x[k * WORKERS * ROWS : (k + 1) * WORKERS * ROWS])
    if mode == "sync":
        jax.tree.map(np.testing.assert_array_equal, jax.tree.map(np.asarray, found), tuple(expected))
    print(f"worker {WORKER} has trained")


def compile_once(how: str = "") -> None:
    """Trains, and says how many plans this process has compiled; in one worker on another CPU."""
    if how == "other" and WORKER == 1:
        runtime.module().limit_cpu("x86-64-v2")
        os.environ["EPL_CPU"] = "x86-64-v2"
    epl.init("cpu:1")
    compiled: list[str] = []
    run = compile_module.compile_plan

    def counted(text: str, options: Any, name: str) -> bytes:
        compiled.append(name)
        return run(text, options, name)

    compile_module.compile_plan = counted
    _, step = make_exact(epl.ParameterServer())
    params, moment = exact_params(), jax.tree.map(np.zeros_like, exact_params())
    x = integers(4)
    for k in range(3):
        params, moment, _ = step(params, moment, batch_of(k, WORKER, x))
    rows = 4 if WORKER == 1 else ROWS  # worker 1 has a short last batch, whose plan is its own
    params, moment, _ = step(params, moment, batch_of(3, WORKER, x)[:rows])
    print(f"worker {WORKER} has compiled {len(compiled)} of its plans")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
