"""Gradients that wait while their server stands still: `served_merges.py OPTIONS EXPECTED`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from epl.servers import connection
from served import _process_of_server

FIRST, GRADIENTS = 64, (1, 2, 4, 9)
"""One before the server stands still, the others meanwhile."""


def await_moment(expected: float) -> float:
    """What the server has of it: as expected, or after a while something else."""
    end, found = time.monotonic() + 20, connection.current()
    assert found is not None
    while (moment := float(found.fetch([(0, 0)])[0][0])) != expected and time.monotonic() < end:
        time.sleep(0.01)
    return moment


def merge(options: str, expected: str) -> None:
    """Prints the moment that the server has of all gradients: it tells how they were sent.

    Args:
      options: of `epl.ParameterServer`, as JSON.
      expected: the moment.
    """
    epl.init("cpu:1")

    def step(w: Any, moment: Any, x: Any) -> Any:
        gradient = jax.grad(lambda w: jnp.sum(x @ w))(w)  # no function of w: the step waits for no value
        moment = 2 * moment + gradient
        return w - moment, moment

    strategy = epl.ParameterServer(mode="async", **json.loads(options))
    train = epl.parallelize(step, state=("w", "moment"), batch="x", strategy=strategy)
    w = moment = np.zeros(1, np.float32)
    w, moment = train(w, moment, np.full((1, 1), FIRST, np.float32))
    await_moment(FIRST)
    await_moment(FIRST)  # comes behind the word that the gradient was applied
    server = _process_of_server("0")
    os.kill(server, signal.SIGSTOP)
    time.sleep(0.1)  # until all its threads stand
    for each in GRADIENTS:
        w, moment = train(w, moment, np.full((1, 1), each, np.float32))
    os.kill(server, signal.SIGCONT)
    print(f"the moment is {await_moment(float(expected)):g}")


if __name__ == "__main__":
    merge(*sys.argv[1:])
