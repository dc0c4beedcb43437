"""Factorizations on GPUs by stand-ins of cuSOLVER and cuBLAS, and by the host where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_operations import GROUPS
from test_cuda import FACTORS, MODEL, NIGHTLY, ROOT, drop_waits, pytestmark, report_of, run_on  # noqa: F401
from test_cuda_processes import kernels, run_in

HOST = {"EPL_CUSOLVER": "", "EPL_CUBLAS": ""}

OPERATIONS = """
import jax, numpy as np, epl
from steps import assert_close
from test_matrices import A, VALUES, assert_each_close, with_gradients
from matrix_operations import GROUPS

def of_values(a):
    return {{name: operation(a) for name, operation in VALUES.items()}}

def of_group(a):
    return with_gradients(GROUPS[{group!r}], a)

function = of_values if {group!r} == "values" else of_group
def step(a):
    with epl.replicate():
        return function(a)

found = epl.parallelize(step, batch="a", devices={devices!r})(A)
assert_each_close(found, jax.jit(function)(A), 1e-4)
"""

CALLS = {
    "cholesky": {"cusolverDnXpotrf", "cublasStrsm"},
    "triangular systems": {"cublasStrsm"},
    "lu": {"cusolverDnXgetrf", "cublasStrsm"},
    "qr": {"cusolverDnXgeqrf", "cusolverDnSorgqr", "cublasStrsm"},
    "eigh": {"cusolverDnXsyevd"},
    "svd": {"cusolverDnXgesvd"},
    "values": {"cusolverDnXpotrf", "cusolverDnXgetrf", "cusolverDnXsyevd", "cusolverDnXgesvd"},
}
"""What each group must call."""


def calls_of(names: set[str]) -> set[str]:
    """Those of the libraries, of all kernels that have run."""
    return {name for name in names if name.startswith("cu")}


@pytest.mark.parametrize("devices", ["cuda:0x4", "cuda:0-1x2"] if NIGHTLY else ["cuda:0x2"])
@pytest.mark.parametrize("group", [*GROUPS, "values"])
def test_values_and_gradients_agree_with_jax(group: str, devices: str, tmp_path: Path) -> None:
    run_on(2, OPERATIONS.format(group=group, devices=devices), tmp_path)
    assert CALLS[group] <= calls_of(set(report_of(tmp_path)["kernels"]))


@pytest.mark.parametrize("group", [*GROUPS, "values"] if NIGHTLY else ["lu", "values"])
def test_the_host_computes_what_no_library_does(group: str, tmp_path: Path) -> None:
    run_on(1, OPERATIONS.format(group=group, devices="cuda:0x2"), tmp_path, **HOST)
    assert not calls_of(set(report_of(tmp_path)["kernels"]))


def test_what_is_left_to_the_host_is_said_once(tmp_path: Path) -> None:
    """With what to do, whatever number of steps and cards there is."""
    said = run_on(2, "import os\nos.dup2(1, 2)\n" + FACTORS.format(devices="cuda:0-1"), tmp_path, **HOST)
    lines = [line for line in said.splitlines() if "are computed by the host" in line]
    assert len(lines) == 1
    assert "pip install nvidia-cusolver, or name it in EPL_CUSOLVER" in lines[0]


SOLVES = """
import jax, jax.numpy as jnp, numpy as np, epl
a = np.tril(np.ones((4, 4), np.float32)) + np.eye(4, dtype=np.float32)
def step(w, x):
    return jax.scipy.linalg.solve_triangular(a, w, lower=True) + x.sum(), w.sum()
own = epl.parallelize(step, devices="cuda:0x2", state="w", batch="x", donate={donate})
w = expected = np.ones((4, 5), np.float32)
for i in range(5):
    x = np.full((2, 3), i, np.float32)
    w, total = own(w, x)
    expected, expected_total = jax.jit(step)(expected, x)
    np.testing.assert_allclose(float(total), float(expected_total), rtol=1e-5)
np.testing.assert_allclose(np.asarray(w), expected, rtol=1e-5)
"""


@pytest.mark.parametrize("donate", [True, False])
def test_triangular_systems_are_part_of_the_graph(donate: bool, tmp_path: Path) -> None:
    """Which takes other addresses, too; the first step, in which the library loads its code, is none."""
    run_on(1, SOLVES.format(donate=donate), tmp_path)
    report = report_of(tmp_path)
    assert (report["graphs"], report["graph_launches"]) == (1, 4)
    assert "cublasStrsm" in report["kernels"]


def test_steps_of_cusolver_are_no_graph(tmp_path: Path) -> None:
    run_on(2, FACTORS.format(devices="cuda:0-1"), tmp_path)
    assert report_of(tmp_path)["graphs"] == 0


@pytest.mark.parametrize("name", ["gaussian_process", "kfac", "shampoo", "soap"])
def test_models_train_as_jax_does(name: str, tmp_path: Path) -> None:
    run_on(1, MODEL.format(name=name, devices="cuda:0x2"), tmp_path)
    assert calls_of(set(report_of(tmp_path)["kernels"]))


def test_a_wait_that_is_missing_is_found(tmp_path: Path) -> None:
    """What the libraries' calls read and write is known to the stand-in."""
    code = """
import importlib
import numpy as np, epl
model = importlib.import_module("models.gaussian_process").build()
own = epl.parallelize(model.steps[0], devices="cuda:0x2", state="state", batch=1)
own.lower(model.state, model.batch(np.random.default_rng(0))).compile().save({file!r})
"""
    plan = tmp_path / "step.eplan"
    run_on(1, code.format(file=str(plan)), tmp_path)
    said = drop_waits(plan)
    assert ", missed 0" in said
    assert ", found 0" not in said


def test_many_small_matrices_are_the_hosts(tmp_path: Path) -> None:
    code = """
import jax, jax.numpy as jnp, numpy as np, epl
a = np.random.default_rng(0).normal(size=(260, 3, 3)).astype(np.float32)
step = lambda a: jnp.linalg.cholesky(a @ a.mT + jnp.eye(3))
found = epl.parallelize(step, batch="a", devices="cuda:0x{devices}")(a)
np.testing.assert_allclose(np.asarray(found), jax.jit(step)(a), rtol=1e-4, atol=1e-5)
"""
    run_on(1, code.format(devices=4), tmp_path)  # of 65 matrices each
    assert not calls_of(set(report_of(tmp_path)["kernels"]))
    run_on(1, code.format(devices=5), tmp_path)
    assert calls_of(set(report_of(tmp_path)["kernels"])) == {"cusolverDnXpotrf"}


PROCESSES = """
    def step(w, x):
        def loss(w):
            return jnp.tanh(x @ w).mean()

        value, gradient = jax.value_and_grad(loss)(w)
        values, vectors = jnp.linalg.eigh(gradient @ gradient.T + jnp.diag(jnp.arange(1.0, 7.0)))
        factor = jnp.linalg.cholesky(gradient @ gradient.T + jnp.eye(6))
        root = (vectors * values**-0.5) @ vectors.T
        return w - 0.1 * root @ jax.scipy.linalg.cho_solve((factor, True), gradient), value


    random = np.random.default_rng(0)
    w = expected = random.normal(size=(6, 5)).astype(np.float32)
    x = random.normal(size=(8, 6)).astype(np.float32)
    epl.init(os.environ["DEVICES"])
    own = epl.parallelize(step, state="w", batch="x")
    for _ in range(3):
        w, loss = own(w, x)
        expected, expected_loss = jax.jit(step)(expected, x)
        assert np.isclose(float(loss), float(expected_loss), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(epl.gather(w)), expected, rtol=1e-4, atol=1e-5)
"""


@pytest.mark.parametrize("devices", ["cuda:*", "cuda:0x2"])
def test_a_library_that_waits_lets_messages_go_on(devices: str, tmp_path: Path) -> None:
    """By NCCL between cards, and through the host where two processes share one."""
    run_in(2, PROCESSES, tmp_path, DEVICES=devices)
    assert {"cusolverDnXsyevd", "cusolverDnXpotrf", "cublasStrsm"} <= calls_of(kernels(tmp_path))
