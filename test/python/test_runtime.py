"""The runtime's Python module, on hand-written plans."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

BUILD = Path(__file__).parents[2] / "build"
sys.path.append(str(BUILD / "python"))
runtime = pytest.importorskip("_epl_runtime")

Load = Callable[[str], Any]


@pytest.fixture
def load(write_plan: Callable[[str], Path]) -> Load:
    """Loads one of the plans of EplWriteTestPlan."""
    return lambda kind: runtime.Plan.load(str(write_plan(kind)))


def batch() -> np.ndarray[Any, Any]:
    return np.arange(6, dtype=np.int64).reshape(2, 3)


def state() -> np.ndarray[Any, Any]:
    return np.zeros(4, np.int64)


def test_plan_describes_itself(load: Load) -> None:
    plan = load("step")
    assert (plan.devices, plan.layout) == (2, "cpu:2 = data 2")
    assert (plan.num_kernels, plan.num_collectives) == (1, 1)
    assert plan.arena_bytes == 0
    assert "all_reduce" in plan.dump()
    slots = plan.slots
    assert [slot.role for slot in slots] == ["state", "batch", "result", "result", "result"]
    assert [slot.name for slot in slots] == ["n", "x", "n", "total", "same"]
    assert [slot.updates for slot in slots] == [-1, -1, 0, -1, -1]
    assert [slot.hidden for slot in slots] == [False] * 5
    assert slots[1].shape == (2, 3)
    assert slots[1].dtype == "int64"
    assert slots[1].sharding == [["data"], []]


def test_plan_goes_through_bytes_and_files(load: Load, tmp_path: Path) -> None:
    plan = load("step")
    content = plan.to_bytes()
    assert runtime.Plan.from_bytes(content).to_bytes() == content
    plan.save(str(tmp_path / "copy.eplan"))
    assert (tmp_path / "copy.eplan").read_bytes() == content
    with pytest.raises(runtime.Error, match="bytes"):
        runtime.Plan.from_bytes(content[:-1])
    with pytest.raises(runtime.Error, match=r"missing\.eplan"):
        runtime.Plan.load(str(tmp_path / "missing.eplan"))
    with pytest.raises(runtime.Error, match="nowhere"):
        plan.save(str(tmp_path / "nowhere" / "copy.eplan"))


def test_errors_are_runtime_errors() -> None:
    assert issubclass(runtime.Error, RuntimeError)


def test_wrong_devices_name_both_counts(load: Load) -> None:
    with pytest.raises(runtime.Error, match=r"2 devices.*3 devices"):
        runtime.Session(load("step"), "cpu:3")
    with pytest.raises(runtime.Error, match='"cpu:0"'):
        runtime.Session(load("step"), "cpu:0")


def test_step_runs_and_updates_state(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    n: Any = state()
    for index in range(1, 20):
        (n, total, same), call = session.call([n, batch()], [True, False], "train_step")
        assert call.index == index
        np.testing.assert_array_equal(n.numpy(), np.full(4, index))
        np.testing.assert_array_equal(total.numpy(), [3, 5, 7])
        np.testing.assert_array_equal(same.numpy(), batch())
        assert call.done
    assert (n.shape, n.dtype, n.nbytes) == ((4,), "int64", 32)
    assert (same.shape, same.dtype) == ((2, 3), "int64")


@pytest.mark.parametrize("read_only", [False, True])
def test_every_type_comes_back_bit_for_bit(load: Load, read_only: bool) -> None:
    plan = load("echo")
    session = runtime.Session(plan, "cpu:2")
    random = np.random.default_rng(0)
    arguments = []
    for slot in plan.slots:
        if slot.role == "constant":
            dtype = np.dtype(ml_dtypes.bfloat16 if slot.dtype == "bfloat16" else slot.dtype)
            size = 2 if slot.dtype == "bool" else 256
            values = random.integers(0, size, (2, 3 * dtype.itemsize), np.uint8).view(dtype)
            values.flags.writeable = not read_only
            arguments.append(values)
    results, _ = session.call(arguments, [False] * len(arguments), "echo")
    for argument, result in zip(arguments, results, strict=True):
        found = result.numpy()
        assert found.dtype.itemsize == argument.dtype.itemsize
        assert found.tobytes() == argument.tobytes()
        if argument.dtype.name != "bfloat16":
            assert found.dtype == argument.dtype


def test_unsigned_and_two_byte_views_are_taken(load: Load) -> None:
    plan = load("echo")
    session = runtime.Session(plan, "cpu:2")
    dtypes = {"int8": np.uint8, "int32": np.uint32, "bfloat16": np.uint16}
    arguments = [
        np.ones((2, 3), dtypes.get(slot.dtype, slot.dtype)) for slot in plan.slots if slot.role == "constant"
    ]
    results, call = session.call(arguments, [False] * len(arguments), "echo")
    call.wait()
    for argument, result in zip(arguments, results, strict=True):
        assert result.numpy().tobytes() == argument.tobytes()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((2, 4), np.int64), r'argument "x" is int64\[2,4\], expected int64\[2,3\]'),
        (np.zeros((2, 3), np.float64), r'argument "x" is float64\[2,3\], expected int64\[2,3\]'),
        (np.zeros((3, 2), np.int64).T, r'argument "x" is no array in contiguous memory: .*not C-contiguous'),
        (np.zeros((2, 3), ">i8"), r'argument "x" has elements of type >i8, expected int64'),
        (np.zeros((2, 3), np.complex64), r'argument "x" has elements of type complex64, expected int64'),
        ([[1, 2, 3], [4, 5, 6]], r'argument "x" is no array in contiguous memory'),
        (None, r'argument "x" is no array'),
    ],
)
def test_bad_arguments_name_slot_expected_and_found(load: Load, value: Any, message: str) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    kept = session.state(0, state())
    with pytest.raises(runtime.Error, match=message):
        session.call([kept, value], [True, False], "train_step")
    assert not kept.is_donated


def test_wrong_number_of_arguments(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    with pytest.raises(runtime.Error, match="train_step takes 2 arguments, found 1"):
        session.call([state()], [False], "train_step")


def test_use_after_donation_names_the_call(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    first = session.state(0, state())
    (second, _, _), _ = session.call([first, batch()], [True, False], "train_step")
    assert first.is_donated
    assert not second.is_donated
    for use in (first.numpy, first.copy, lambda: session.call([first, batch()], [True, False], "again")):
        with pytest.raises(runtime.Error, match='state "n" was donated by call 1 of train_step'):
            use()


def test_views_are_read_only_and_keep_their_value(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    n: Any = session.state(0, state())
    view = n.numpy()
    assert not view.flags.writeable
    assert view.ctypes.data == n.numpy().ctypes.data
    (second, _, _), call = session.call([n, batch()], [True, False], "train_step")
    call.wait()
    np.testing.assert_array_equal(view, state())
    address = second.numpy().ctypes.data
    (third, _, _), _ = session.call([second, batch()], [True, False], "train_step")
    assert third.numpy().ctypes.data == address
    del n, second, third, session
    gc.collect()
    np.testing.assert_array_equal(view, state())


def test_copies_survive_donation(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    first = session.state(0, state())
    copy = first.copy()
    session.call([first, batch()], [True, False], "train_step")[1].wait()
    np.testing.assert_array_equal(copy.numpy(), state())


def test_calls_are_asynchronous_and_hold_their_arguments(load: Load) -> None:
    session = runtime.Session(load("gate"), "cpu:2")
    gate = np.zeros(1, np.int64)
    references = sys.getrefcount(gate)
    (n,), call = session.call([np.zeros(1, np.int64), gate], [False, False], "wait")
    assert not call.done
    assert sys.getrefcount(gate) > references
    gate[0] = 1
    call.wait()
    assert call.done
    assert n.numpy()[0] == 1
    session.trace(False)  # waits for every call, and lets go of its arguments
    assert sys.getrefcount(gate) == references


def interrupt(after: float, times: int = 1) -> None:
    """Sends this process Ctrl-C, from another thread."""

    def send() -> None:
        for _ in range(times):
            time.sleep(after)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()


def test_ctrl_c_lets_the_step_end(load: Load) -> None:
    session = runtime.Session(load("gate"), "cpu:2")
    gate = np.zeros(1, np.int64)
    (n,), call = session.call([np.zeros(1, np.int64), gate], [False, False], "wait")
    interrupt(0.1)
    threading.Timer(0.3, lambda: gate.fill(1)).start()
    with pytest.raises(KeyboardInterrupt):
        call.wait()
    assert call.done
    assert n.numpy()[0] == 1


def test_a_second_ctrl_c_poisons_the_state(load: Load) -> None:
    session = runtime.Session(load("gate"), "cpu:2")
    gate = np.zeros(1, np.int64)
    (n,), call = session.call([np.zeros(1, np.int64), gate], [False, False], "wait")
    interrupt(0.1, times=2)
    threading.Timer(0.5, lambda: gate.fill(1)).start()
    with pytest.raises(KeyboardInterrupt):
        call.wait()
    for use in (n.numpy, lambda: session.call([n, gate], [True, False], "next")):
        with pytest.raises(runtime.Error, match='state "n" is lost: call 1 of wait failed: interrupted'):
            use()


def test_other_threads_run_while_one_waits(load: Load) -> None:
    session = runtime.Session(load("gate"), "cpu:2")
    gate = np.zeros(1, np.int64)
    _, call = session.call([np.zeros(1, np.int64), gate], [False, False], "wait")
    threading.Timer(0.1, lambda: gate.fill(1)).start()  # would never run if waiting held the lock
    call.wait()


def test_trace_is_json_with_an_event_for_each_command(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    session.trace(True)
    session.call([state(), batch()], [False, False], "train_step")
    session.trace(False)
    events = [event for event in json.loads(session.trace_json())["traceEvents"] if event["ph"] == "X"]
    assert sorted(event["name"] for event in events) == sorted(
        [*2 * ["increment", "all_reduce", "all_reduce", "copy"], "step 1"]
    )


def test_a_constant_is_uploaded_once(load: Load) -> None:
    session = runtime.Session(load("gate"), "cpu:2")
    gate = session.state(1, np.ones(1, np.int64))
    n: Any = np.zeros(1, np.int64)
    for _ in range(3):
        (n,), _ = session.call([n, gate], [True, True], "wait")
    assert not gate.is_donated
    assert n.numpy()[0] == 3


def test_threads_may_share_a_session(load: Load) -> None:
    session = runtime.Session(load("step"), "cpu:2")
    counts = []

    def train() -> None:
        n: Any = state()
        for _ in range(50):
            (n, _, _), _ = session.call([n, batch()], [True, False], "train_step")
        counts.append(n.numpy()[0])

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50] * 4
