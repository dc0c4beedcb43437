"""Threads that call one step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import epl
from epl import stages
from epl.once import Once

THREADS = 8
X = np.arange(12, dtype=np.float32).reshape(4, 3)


def all_at_once(call: Callable[[int], Any]) -> list[Any]:
    """What eight threads get that begin together."""
    start = threading.Barrier(THREADS)

    def begin(index: int) -> Any:
        start.wait()
        return call(index)

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(begin, index) for index in range(THREADS)]
        return [future.exception() or future.result() for future in futures]


def test_a_new_step_is_traced_and_compiled_once(capfd: pytest.CaptureFixture[str]) -> None:
    traces = []

    def step(w: Any, x: Any) -> Any:
        traces.append(1)
        return (x @ w).sum()

    parallel = epl.parallelize(step, batch="x", devices=2)
    found = all_at_once(lambda index: float(parallel(jnp.full((3, 2), index, jnp.float32), X)))
    assert found == [2 * index * X.sum() for index in range(THREADS)]
    assert len(traces) == 1
    assert capfd.readouterr().err.count("step: cpu:2 = data 2") == 1


def test_other_shapes_are_other_steps() -> None:
    parallel = epl.parallelize(lambda x: x.sum(), batch="x", devices=2, name="add")
    found = all_at_once(lambda index: float(parallel(np.ones((2 + 2 * (index % 3), 3), np.float32))))
    assert found == [3 * (2 + 2 * (index % 3)) for index in range(THREADS)]


def test_other_shapes_are_compiled_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    both, compile_plan = threading.Barrier(2), stages.load_or_compile

    def compile_beside_another(*args: Any) -> Any:
        both.wait(timeout=60)
        return compile_plan(*args)

    monkeypatch.setattr(stages, "load_or_compile", compile_beside_another)
    parallel = epl.parallelize(lambda x: x.sum(), batch="x", devices=2, name="add")
    found = all_at_once(lambda index: float(parallel(np.ones((2 + 2 * (index % 2), 3), np.float32))))
    assert found == [3 * (2 + 2 * (index % 2)) for index in range(THREADS)]


def test_an_error_reaches_all() -> None:
    parallel = epl.parallelize(lambda x: x.sum(), batch="x", devices=3, name="add")
    found = all_at_once(lambda index: parallel(X))
    assert all(isinstance(error, epl.CompileError) for error in found)
    assert all("4" in str(error) for error in found)


def test_of_threads_with_one_key_one_works() -> None:
    once, ran, together = Once(), [], threading.Barrier(2)

    def work() -> int:
        ran.append(1)
        together.wait()  # for the other thread, which then asks
        while not once._running["key"]._condition._waiters:  # type: ignore[attr-defined]
            pass
        return 7

    other = ThreadPoolExecutor(1)
    first = other.submit(once.run, "key", work)
    together.wait()
    assert once.run("key", work) == 7
    assert first.result() == 7
    assert ran == [1]
    other.shutdown()


def test_who_waits_for_an_interrupted_thread_works_itself() -> None:
    once, together = Once(), threading.Barrier(2)

    def interrupted() -> None:
        together.wait()
        while not once._running["key"]._condition._waiters:  # type: ignore[attr-defined]
            pass
        raise KeyboardInterrupt

    def first() -> type | None:
        try:
            once.run("key", interrupted)
        except KeyboardInterrupt as stop:
            return type(stop)
        return None

    other = ThreadPoolExecutor(1)
    began = other.submit(first)
    together.wait()
    assert once.run("key", lambda: "mine") == "mine"
    assert began.result() is KeyboardInterrupt
    other.shutdown()
