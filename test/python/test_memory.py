"""What is dropped is freed, and nothing grows from call to call or with compilations."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from conftest import GatedStep

ROWS = 1 << 16
BYTES = 4 * ROWS  # of a float32 vector, of one copy
VALUES = np.zeros(ROWS, np.float32)


@pytest.fixture
def held() -> Iterator[Callable[[], int]]:
    """Bytes that EPL has taken since the test began; the test must end where it began."""
    gc.collect()
    before = epl.live_bytes()

    def since() -> int:
        return epl.live_bytes() - before

    yield since
    gc.collect()
    assert since() == 0


def new_step(**options: Any) -> epl.Parallelized:
    return epl.parallelize(
        lambda state, x: (state + x, state * x), state="state", devices=1, name="add", **options
    )


def test_a_state_is_freed_when_it_is_dropped(held: Callable[[], int]) -> None:
    step = epl.parallelize(lambda state: state + 1, state="state", devices=2, name="add")
    step.lower(VALUES).compile()
    base = held()
    state = step(VALUES)
    assert state.block_until_ready() is state
    step(np.ones_like(VALUES)).block_until_ready()  # lets go of the arguments of the step before
    watched = weakref.ref(state)
    assert held() - base == 2 * BYTES  # one copy for each device
    del state
    assert watched() is None
    assert held() == base
    del step


def test_training_holds_one_state(held: Callable[[], int]) -> None:
    step = epl.parallelize(lambda state: state + 1, state="state", devices=1, name="add")
    state = step(VALUES)
    state.block_until_ready()
    base = held()
    for _ in range(20):
        state = step(state)
        state.block_until_ready()
        assert held() == base
    del state, step


def test_a_donated_array_holds_no_memory(held: Callable[[], int]) -> None:
    step = epl.parallelize(lambda state: state + 1, state="state", devices=1, name="add")
    step.lower(VALUES).compile()
    base = held()
    old = [step(VALUES)]
    for _ in range(3):
        old.append(step(old[-1]))
    old.pop().block_until_ready()
    assert held() == base
    assert all(array.is_deleted() for array in old)
    del old, step


def test_without_donation_every_value_that_is_kept_counts(held: Callable[[], int]) -> None:
    step = epl.parallelize(lambda state: state + 1, state="state", devices=1, donate=False, name="add")
    states = [step(VALUES).block_until_ready()]
    base = held()
    for count in range(1, 4):
        states.append(step(states[-1]).block_until_ready())
        assert held() - base == count * BYTES
    del states[1:]
    step(states[0]).block_until_ready()
    assert held() == base
    del states, step


EXPORTS: list[Callable[[Any], Any]] = [
    np.asarray,
    lambda array: memoryview(np.asarray(array)),
    lambda array: np.asarray(array)[5:],
]


@pytest.mark.parametrize("export", EXPORTS)
def test_a_view_holds_the_memory_and_nothing_else_does(
    held: Callable[[], int], export: Callable[[Any], Any]
) -> None:
    step = epl.parallelize(lambda state: state + 1, state="state", devices=1, name="add")
    state = step(VALUES)
    view = export(state)
    del state, step
    gc.collect()
    assert held() == BYTES
    del view
    assert held() == 0


def test_plain_results_are_freed_when_they_are_dropped(held: Callable[[], int]) -> None:
    step = new_step()
    state, product = step(VALUES, VALUES)
    base = held()
    watched = weakref.ref(product)
    products = [product]
    for _ in range(3):
        state, product = step(state, VALUES)
        products.append(product)
    del product, products
    jax.block_until_ready(step(state, VALUES))
    assert watched() is None
    assert held() <= base
    del state, step


def test_arguments_are_let_go_of_when_the_step_has_ended() -> None:
    step = epl.parallelize(lambda state, x: state + x, state="state", devices=1, name="add")
    x = jnp.ones(ROWS)
    watched = weakref.ref(x)
    state = step(VALUES, x)
    del x
    state.block_until_ready()
    state = step(state, VALUES)
    gc.collect()
    assert watched() is None


def test_a_dropped_step_frees_its_plan_and_work_memory(held: Callable[[], int]) -> None:
    def make() -> weakref.ref[Any]:
        table = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
        step = epl.parallelize(lambda x: jnp.tanh(x @ table) @ table, batch="x", devices=2, name="project")
        step(np.ones((8, 64), np.float32))
        assert held() > 0
        return weakref.ref(step)

    watched = make()
    gc.collect()
    assert watched() is None


def test_a_failed_step_frees_what_it_held(gated: GatedStep, held: Callable[[], int]) -> None:
    gated.open()
    base = held()
    for _ in range(3):
        lost = gated(gated.zero(), culprit=0)
        with pytest.raises(epl.Error, match="as asked"):
            lost.block_until_ready()
    del lost
    gated(gated.zero()).block_until_ready()
    assert held() - base <= 64
