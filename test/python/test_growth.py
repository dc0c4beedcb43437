"""Nothing grows with calls and compilations, nor code with layers. EPL_NIGHTLY=1 runs the full numbers."""

from __future__ import annotations

import functools
import gc
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl

NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))
STEPS = 100_000 if NIGHTLY else 10_000
COMPILATIONS = 1_000 if NIGHTLY else 30
STEP_BYTES = 2 << 20  # may come with any number of steps: what allocators keep back
COMPILATION_BYTES = 96 << 10  # with each compilation: JAX keeps what it traces


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def train(count: int, step: Callable[..., Any]) -> None:
    state = {"a": np.zeros(64, np.float32), "b": np.zeros((8, 8), np.float32)}
    x = np.ones(64, np.float32)
    for _ in range(count):
        state, _ = step(state, x)
    jax.block_until_ready(state)


def test_steps_do_not_grow() -> None:
    def function(state: Any, x: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf * 0.5, state), x.sum()

    step = epl.parallelize(function, state="state", devices=2, name="halve")
    train(2_000, step)
    before, held = resident(), epl.live_bytes()
    train(STEPS, step)
    assert resident() - before < STEP_BYTES
    assert epl.live_bytes() == held


@pytest.mark.parametrize("scanned", [False, True])
def test_code_does_not_grow_with_layers(scanned: bool) -> None:
    def count(layers: int) -> tuple[int, int]:
        """How many kernels have code, and how many launches there are."""
        text = lower_layers(layers, scanned).as_text(stage="kernel")
        kernels = re.findall(r"^  epl\.kernel @\w+ .*?^  }(.*?)$", text, re.M | re.S)
        return sum("copies" not in attributes for attributes in kernels), text.count("epl.launch @")

    few, more, most = map(count, (5, 7, 9))
    assert few[0] == more[0] == most[0] > 0
    assert most[1] - more[1] == more[1] - few[1]
    assert (most[1] == few[1]) == scanned  # a scan has the launches of one iteration


def lower_layers(layers: int, scanned: bool) -> Any:
    """A network with dropout, its layers a loop of Python or of `scan`."""
    keys = ("up", "down")
    stacks = {"up": np.zeros((layers, 8, 16), np.float32), "down": np.zeros((layers, 16, 8), np.float32)}
    params: Any = stacks if scanned else [{key: stacks[key][i] for key in keys} for i in range(layers)]

    def block(carry: Any, layer: Any) -> Any:
        x, key = carry
        key, drop = jax.random.split(key)
        x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
        return (jnp.where(jax.random.bernoulli(drop, 0.9, x.shape), x / 0.9, 0), key), None

    def loss(params: Any, key: Any, x: Any) -> Any:
        if scanned:
            return jnp.sum(jax.lax.scan(block, (x, key), params)[0][0])
        return jnp.sum(functools.reduce(lambda carry, layer: block(carry, layer)[0], params, (x, key))[0])

    def train(params: Any, key: Any, x: Any) -> Any:
        gradients = jax.grad(loss)(params, key, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)

    step = epl.parallelize(train, state="params", batch="x", devices=1)
    return step.lower(params, jax.random.key(0), np.zeros((4, 8), np.float32))


def test_calls_with_errors_do_not_grow() -> None:
    step = epl.parallelize(lambda state: state + 1, state="state", devices=1, name="add")
    old = step(np.zeros(4, np.float32))
    step(old)

    def misuse(count: int) -> None:
        for _ in range(count):
            with pytest.raises(epl.DonatedError):
                step(old)

    misuse(500)
    before, held = resident(), epl.live_bytes()
    misuse(STEPS // 10)
    assert resident() - before < STEP_BYTES
    assert epl.live_bytes() == held


def compile_steps(count: int) -> None:
    """Compiles so many programs that differ in a constant."""
    for index in range(count):
        step = epl.parallelize(lambda x, y=float(index): x + y, devices=1, name="add", static_argnames="y")
        assert float(step(np.float32(1))) == 1 + index


def test_compilations_do_not_grow() -> None:
    compile_steps(10)
    before, held = resident(), epl.live_bytes()
    compile_steps(COMPILATIONS)
    grown = resident() - before
    print(f"{grown / COMPILATIONS:.0f} bytes for each compilation")
    assert grown < STEP_BYTES + COMPILATIONS * COMPILATION_BYTES
    assert epl.live_bytes() == held
