"""Biases and activations on GPUs, which the library that multiplies adds and applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_cuda import CUBLASLT, products, pytestmark, report_of, run_on  # noqa: F401

CODE = """
import functools
import jax, jax.numpy as jnp, numpy as np, epl

silent = lambda x: x
gelu = functools.partial(jax.nn.gelu, approximate=True)
exact = functools.partial(jax.nn.gelu, approximate=False)

def step(params, x):
    h = {first}(x @ params["a"] + params["b"])
    h = {second}(h @ params["c"])
    return (h.reshape(4, -1, 16) @ params["d"] + params["e"]).sum(0)

random = np.random.default_rng(0)
draw = lambda *shape: jnp.asarray(random.standard_normal(shape), dtype="{dtype}")
params = {{"a": draw(12, 24), "b": draw(24), "c": draw(24, 16), "d": draw(16, 8), "e": draw(8)}}
x = draw(24, 12)
own = epl.parallelize(step, devices="cuda:0x2", batch="x")
for _ in range(2):
    found = np.asarray(own(params, x)).astype(np.float32)
np.testing.assert_allclose(found, np.asarray(jax.jit(step)(params, x)).astype(np.float32), {tolerance})
"""


def run_step(tmp_path: Path, first: str, second: str, dtype: str = "float32", **more: str) -> set[str]:
    """The plan's own kernels that have run."""
    # A product in bf16 rounds once where JAX rounds after each op.
    tolerance = "rtol=1e-4, atol=1e-4" if dtype == "float32" else "rtol=0.05, atol=0.5"
    run_on(1, CODE.format(first=first, second=second, dtype=dtype, tolerance=tolerance), tmp_path, **more)
    return {name for name in report_of(tmp_path)["kernels"] if name.startswith("k")}


@pytest.mark.parametrize("library", ["matmul", "epl_contract"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("first", "second"), [("jax.nn.relu", "gelu"), ("gelu", "jax.nn.relu")])
def test_products_have_what_follows_them(
    first: str, second: str, dtype: str, library: str, tmp_path: Path
) -> None:
    """What is left is the sum, which reads the last bias, too."""
    more = {"EPL_CUBLASLT": ""} if library == "epl_contract" else {}
    if library == "matmul" and CUBLASLT.exists():
        more = {"EPL_CUBLASLT_REAL": str(CUBLASLT)}
    kernels = run_step(tmp_path, first, second, dtype, **more)
    assert not any("maximum" in name or "tanh" in name for name in kernels), kernels
    assert all(name.startswith(library) for name in products(tmp_path))


def test_what_the_library_has_not_is_a_kernel(tmp_path: Path) -> None:
    kernels = run_step(tmp_path, "exact", "jnp.sin")
    assert len(kernels) >= 3, kernels


def test_gradients_are_those_of_jax(tmp_path: Path) -> None:
    """Where backward work reads what an activation is of, it is no epilogue."""
    code = """
import jax, jax.numpy as jnp, numpy as np, epl

def step(params, x):
    def loss(p):
        h = jax.nn.gelu(x @ p["a"] + p["b"])
        q, k = h @ p["q"] + p["r"], h @ p["k"] + p["r"]
        return (jax.nn.softmax(q @ k.T) ** 2).sum()
    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

random = np.random.default_rng(0)
draw = lambda *shape: (random.standard_normal(shape) / 4).astype(np.float32)
params = {"a": draw(12, 24), "b": draw(24), "q": draw(24, 16), "k": draw(24, 16), "r": draw(16)}
x = draw(8, 12)
own = epl.parallelize(step, devices="cuda:0", state="params", batch="x")
expected = params
for _ in range(3):
    params, value = own(params, x)
    expected, right = jax.jit(step)(expected, x)
    np.testing.assert_allclose(float(value), float(right), rtol=1e-5)
for name in expected:
    np.testing.assert_allclose(np.asarray(params[name]), expected[name], rtol=1e-4, atol=1e-6)
"""
    run_on(1, code, tmp_path)
