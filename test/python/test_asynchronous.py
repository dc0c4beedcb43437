"""Steps run behind the program: calls return at once, errors come where the value is used."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from conftest import GatedStep, WritePlan, open_gate

USES: list[Callable[[Any], Any]] = [
    np.asarray,
    lambda a: a.block_until_ready(),
    lambda a: jax.block_until_ready({"loss": jnp.zeros(3), "state": [a, None, 1]}),
    lambda a: a.copy(),
    lambda a: a + 1,
    jax.jit(lambda a: a + 1),
    jax.device_get,
    pickle.dumps,
    repr,
    int,
]


def test_a_call_returns_before_its_step_ends(gated: GatedStep) -> None:
    n = gated(gated.zero())
    assert not n.is_ready()
    assert (n.shape, n.dtype, n.is_deleted()) == ((), np.int64, False)
    gated.open()
    assert n.block_until_ready() is n
    assert n.is_ready()
    assert int(n) == 1


def test_calls_queue_up_in_order(gated: GatedStep) -> None:
    n = gated(gated.zero())
    for _ in range(10):
        n = gated(n)
    assert not n.is_ready()
    gated.open()
    assert int(n) == 11


def test_a_program_that_never_waits_is_held_back(gated: GatedStep) -> None:
    """Else the arguments of its calls would fill the memory."""
    calls = []

    def train() -> None:
        n: Any = gated.zero()
        with jax.enable_x64(True):  # a setting of each thread
            for _ in range(100):
                n = gated(n)
                calls.append(n)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join(timeout=0.5)
    assert thread.is_alive()
    assert 2 <= len(calls) <= 32
    gated.open()
    thread.join()
    assert int(calls[-1]) == 100


@pytest.mark.parametrize("use", USES)
def test_every_use_waits(gated: GatedStep, use: Callable[[Any], Any]) -> None:
    n = gated(gated.zero())
    threading.Timer(0.05, gated.open).start()
    use(n)
    assert n.is_ready()


def test_a_step_with_a_plain_result_waits_for_it() -> None:
    step = epl.parallelize(lambda state: (state + 1, state.sum()), state="state", devices=2, name="add")
    state, total = step(np.ones(4, np.float32))
    assert state.is_ready()
    assert total.is_ready()


def test_arguments_may_be_changed_and_dropped_after_the_call(gated: GatedStep) -> None:
    mine = gated.zero()
    n = gated(mine)
    mine[...] = 100
    del mine
    gated.open()
    assert int(n) == 1


FAILURE = 'call 1 of fragile failed: command "fail" of model.py:2 on rank 1: as asked'


@pytest.mark.parametrize("use", [*USES, lambda a: a[...]])
def test_an_error_comes_at_the_next_use(gated: GatedStep, use: Callable[[Any], Any]) -> None:
    n = gated(gated.zero(), culprit=1)
    gated.open()
    for _ in range(2):
        with pytest.raises(epl.Error, match=FAILURE):
            use(n)


def test_a_failed_step_poisons_what_it_was_writing(gated: GatedStep) -> None:
    gated.open()
    before = gated(gated.zero())
    after = gated(before, culprit=0)
    with pytest.raises(epl.Error, match="call 2 of fragile failed"):
        after.block_until_ready()
    assert before.is_deleted()
    for _ in range(2):
        with pytest.raises(epl.Error, match='state "n" is lost: call 2 of fragile failed') as error:
            gated(after)
        assert not isinstance(error.value, epl.DonatedError)
    assert int(gated(gated.zero())) == 1  # the step itself is well


def test_poison_runs_through_the_queue(gated: GatedStep) -> None:
    n = gated(gated.zero(), culprit=0)
    for _ in range(5):
        n = gated(n)
    gated.open()
    with pytest.raises(epl.Error, match='state "n" is lost: call 1 of fragile failed'):
        n.block_until_ready()


def test_a_failed_step_leaves_copies_and_views_alone(gated: GatedStep) -> None:
    gated.open()
    n = gated(gated.zero())
    copy, view = n.copy(), np.asarray(n)
    with pytest.raises(epl.Error, match="as asked"):
        gated(n, culprit=0).block_until_ready()
    assert (int(copy), int(view)) == (1, 1)
    assert int(gated(copy)) == 2


def test_jax_waits_for_trees_with_a_failed_leaf(gated: GatedStep) -> None:
    gated.open()
    tree = {"good": gated(gated.zero()), "plain": jnp.ones(3), "bad": gated(gated.zero(), culprit=0)}
    with pytest.raises(epl.Error, match="as asked"):
        jax.block_until_ready(tree)
    assert int(tree["good"]) == 1


def interrupt(times: int) -> None:
    """Sends this process Ctrl-C, from another thread."""

    def send() -> None:
        for _ in range(times):
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()


def test_one_ctrl_c_costs_no_state(gated: GatedStep) -> None:
    n = gated(gated.zero())
    interrupt(times=1)
    threading.Timer(0.4, gated.open).start()
    with pytest.raises(KeyboardInterrupt):
        n.block_until_ready()
    assert int(gated(n)) == 2


def test_a_second_ctrl_c_poisons_the_state(gated: GatedStep) -> None:
    n = gated(gated.zero())
    interrupt(times=2)
    threading.Timer(0.6, gated.open).start()
    with pytest.raises(KeyboardInterrupt):
        n.block_until_ready()
    for use in (np.asarray, gated):
        with pytest.raises(epl.Error, match=r'state "n" is lost: .*interrupted by a second Ctrl-C'):
            use(n)


def test_ctrl_c_during_a_call_keeps_the_state(write_plan: WritePlan) -> None:
    """The caller gets no results: the arrays that the call consumed must be the updated states."""
    with jax.enable_x64(True):
        step = epl.load(write_plan("report"))
        opened, closed = jnp.ones(1, jnp.int64), jnp.zeros(1, jnp.int64)
        n, _ = step(np.zeros(1, np.int64), opened)
        interrupt(times=1)
        threading.Timer(0.4, lambda: open_gate(closed)).start()
        with pytest.raises(KeyboardInterrupt):
            step(n, closed)
        assert not n.is_deleted()
        assert n.is_ready()
        n, seen = step(n, opened)
        assert (int(n[0]), int(seen[0])) == (3, 3)
