"""Branches on GPUs: kernels of those that are not taken do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from test_cuda import pytestmark, report_of, run_on  # noqa: F401

CODE = """
import jax, jax.numpy as jnp, numpy as np, epl

def step(state, x, first, second):
    def inner(s):
        return jax.lax.cond(second, lambda s: jnp.tanh(s @ s) + x.sum(0), lambda s: s * 2, s)
    state = jax.lax.cond(first.sum() > 0, inner, lambda s: s.T, state)
    return state, state.sum()

random = np.random.default_rng(0)
state = expected = random.random((64, 64), np.float32)
own = epl.parallelize(step, devices="{devices}", state="state", batch="x", donate={donate})
for first, second in {taken}:
    x = random.random((4, 64), np.float32)
    arguments = x, np.float32([first]), np.bool_(second)
    expected, total = jax.jit(step)(expected, *arguments)
    state, found = own(state, *arguments)
    np.testing.assert_allclose(float(found), float(total), rtol=1e-5)
np.testing.assert_allclose(np.asarray(state), expected, rtol=1e-5)
"""
NONE, BOTH = [(0, 0)] * 4, [(1, 1)] * 4


def run_branches(
    tmp_path: Path, taken: Any, devices: str = "cuda:0x2", donate: bool = True, **more: str
) -> None:
    run_on(2, CODE.format(devices=devices, taken=taken, donate=donate), tmp_path, **more)


def instructions(tmp_path: Path, own: bool) -> int:
    """Of the plan's kernels, or of the plugin's own product."""
    kernels = report_of(tmp_path)["kernels"]
    chosen = [name for name in kernels if name.startswith("epl_contract" if own else "k")]
    assert chosen, kernels.keys()
    return sum(kernels[name]["lane_instructions"] for name in chosen)


def test_kernels_of_a_branch_that_is_not_taken_do_nothing(tmp_path: Path) -> None:
    """The plan's kernels, and products that no library computes; none that is taken is left out."""
    run_branches(tmp_path, NONE, EPL_CUBLASLT="")
    idle = [instructions(tmp_path, own) for own in (False, True)]
    run_branches(tmp_path, BOTH, EPL_CUBLASLT="")
    busy = [instructions(tmp_path, own) for own in (False, True)]
    assert idle[0] < 0.5 * busy[0], (idle, busy)
    assert idle[1] < 0.1 * busy[1], (idle, busy)


@pytest.mark.parametrize("devices", ["cuda:0x2", "cuda:0-1"])
@pytest.mark.parametrize("donate", [True, False])
def test_branches_are_those_of_jax(devices: str, donate: bool, tmp_path: Path) -> None:
    """Taken by turns, from the first step on; their flags come to other addresses."""
    run_branches(tmp_path, [(0, 1), (1, 1), (1, 0), (0, 0), (1, 1)], devices, donate)


def test_updates_that_are_skipped_are_one_launch(tmp_path: Path) -> None:
    """Every second step: the launches of all tensors are one, each with its conditions."""
    code = """
import jax, jax.numpy as jnp, numpy as np, optax, epl
optimizer = optax.MultiSteps(optax.adam(0.1), every_k_schedule=2)

def step(state, x):
    params, memory = state
    gradients = jax.grad(lambda p: ((x @ p["a"] + p["b"]) ** 2).mean())(params)
    updates, memory = optimizer.update(gradients, memory, params)
    return (optax.apply_updates(params, updates), memory), updates

params = {"a": np.ones((8, 16), np.float32), "b": np.ones(16, np.float32)}
state = expected = (params, optimizer.init(params))
own = epl.parallelize(step, devices="cuda:0x2", state="state", batch="x")
for i in range(5):
    x = np.random.default_rng(i).random((4, 8), np.float32)
    expected, _ = jax.jit(step)(expected, x)
    state, _ = own(state, x)
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(expected)):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-4, atol=1e-5)
"""
    run_on(1, code, tmp_path)
