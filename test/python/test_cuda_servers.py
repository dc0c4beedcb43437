"""Workers of parameter servers whose devices are GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_cuda import PLUGIN, run_on

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="built without CUDA's headers")


SERVED = """
import jax, jax.numpy as jnp, numpy as np, epl

def step(params, x):
    def loss_of(params):
        with epl.replicate():
            return jnp.mean(jnp.tanh(x @ params["w"] + params["b"]) ** 2)
    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - g / 2, params, grads), loss

served = epl.parallelize(
    step, devices="cuda:0-1", state="params", batch="x", strategy=epl.ParameterServer(min_block_size=8)
)
random = np.random.default_rng(1)
params = {"w": random.normal(size=(8, 16)).astype(np.float32), "b": np.zeros(16, np.float32)}
plain, expected = jax.jit(step), params
for _ in range(4):
    x = random.normal(size=(32, 8)).astype(np.float32)
    params, loss = served(params, x)
    expected, best = plain(expected, x)
    np.testing.assert_allclose(loss, best, rtol=1e-5)
for name in params:
    np.testing.assert_allclose(np.asarray(params[name]), expected[name], rtol=1e-5, atol=1e-6)
"""


def test_a_worker_of_servers_pulls_and_pushes_around_its_step(tmp_path: Path) -> None:
    run_on(2, SERVED, tmp_path)
