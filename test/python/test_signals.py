"""Signals that come while the calling thread runs a part of a step."""

from __future__ import annotations

from processes import run_python

PRODUCTS = """
    import signal

    import jax.numpy as jnp
    import numpy as np

    import epl

    count = 0


    def handle(*_):
        global count
        count += 1


    epl.init(devices=1)


    @epl.parallelize(state="w", batch="x")
    def step(w, x):
        with epl.replicate():
            return w * 0.999 - 0.001 * jnp.tanh(x.T @ x), jnp.sum(x)


    w = np.ones((512, 512), np.float32) / 512
    x = np.random.default_rng(0).normal(size=(1024, 512)).astype(np.float32)
    w, total = step(w, x)
    float(total)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.0013)
    for _ in range(300):
        w, total = step(w, x)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("ENDED", float(total) > 0, count > 10)
"""


def test_a_handler_touches_nothing_of_a_product() -> None:
    """The matrix library's products for AVX-512 keep the stack pointer in the midst of memory of the heap."""
    assert "ENDED True True" in run_python(PRODUCTS)
