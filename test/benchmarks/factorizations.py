"""What the factorizations of a matrix cost, on one core, beside JAX's by its own LAPACK.

Rows, one JSON object a line. Rounds are interleaved; a figure is the quickest of some calls in a row, so that
another program in between counts for neither.

    python factorizations.py [--rounds N] [--size N]
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax  # noqa: E402  # counts the cores when it is loaded
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import epl  # noqa: E402

GOAL = 1.1

OPERATIONS: dict[str, Callable[[jax.Array], Any]] = {
    "cholesky": jnp.linalg.cholesky,
    "triangular solve": lambda a: jax.scipy.linalg.solve_triangular(a, a, lower=True),
    "solve": lambda a: jnp.linalg.solve(a, a),
    "qr": jnp.linalg.qr,
    "eigh": jnp.linalg.eigh,
    "svd": jnp.linalg.svd,
    "svdvals": jnp.linalg.svdvals,
}


def matrix(size: int) -> np.ndarray:
    """Symmetric and positive definite."""
    a = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    return a @ a.T / size + np.eye(size, dtype=np.float32)


def quickest(call: Callable[[], Any], calls: int) -> float:
    """Seconds of the quickest of some calls."""
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - begin)
    return min(times)


def measure(name: str, size: int, rounds: int, calls: int) -> dict[str, Any]:
    """A row, as `table.Row` takes it."""
    operation, a = OPERATIONS[name], matrix(size)
    ours, peer = epl.parallelize(lambda a: operation(a), devices=1, name="factor"), jax.jit(operation)
    found: dict[str, list[float]] = {"ours": [], "peer": []}
    for warm in (True, *[False] * rounds):
        times = {"ours": quickest(lambda: ours(a), calls), "peer": quickest(lambda: peer(a), calls)}
        for key in () if warm else found:
            found[key].append(times[key])
    return {"what": f"{name} of {size} x {size} / jax.jit", **found, "goal": GOAL}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=5, help="calls in a row in a round")
    parser.add_argument("--size", type=int, default=512, help="rows of the matrix")
    args = parser.parse_args()
    for name in OPERATIONS:
        print(json.dumps(measure(name, args.size, args.rounds, args.calls)))


if __name__ == "__main__":
    main()
