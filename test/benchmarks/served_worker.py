"""One worker of `served_steps.py`: steps of an MLP of 4 MB in mode sync; worker 0 prints a line of JSON.

epl-launch --servers 2 --workers 2 served_worker.py STEPS FOLDER
    {"steps": seconds of each, "plan": those of its plan alone, on values that are there}

Workers meet in FOLDER before each of the two.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl
from epl import runtime
from epl.slots import GIVEN

WIDTHS, BATCH = (512, 1024, 512), 256
WORKER = int(os.environ["PADDLE_TRAINER_ID"])
WORKERS = int(os.environ["PADDLE_TRAINERS_NUM"])


def step_of(params: Any, x: Any) -> Any:
    """Descends by the gradient of a loss."""

    def loss_of(params: Any) -> Any:
        with epl.replicate():
            h = x
            for weight in params:
                h = jnp.tanh(h @ weight)
            return jnp.mean((h - x) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(params)
    return [p - 0.1 * g for p, g in zip(params, grads, strict=True)], loss


def meet(folder: Path, what: str) -> None:
    """Waits for all workers."""
    (folder / f"{what}{WORKER}").touch()
    while not all((folder / f"{what}{worker}").exists() for worker in range(WORKERS)):
        time.sleep(0.001)


def seconds_of(run: Callable[[], None], steps: int) -> list[float]:
    """Of each call, after one that is not counted."""
    run()
    found = []
    for _ in range(steps):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return found


def main() -> None:
    """Measures, and prints."""
    steps, folder = int(sys.argv[1]), Path(sys.argv[2])
    epl.init("cpu:1")
    random = np.random.default_rng(0)
    shapes = itertools.pairwise(WIDTHS)
    params: Any = [random.normal(size=shape).astype(np.float32) / 30 for shape in shapes]
    x = random.normal(size=(BATCH, WIDTHS[0])).astype(np.float32)
    served = epl.parallelize(step_of, state="params", batch="x", strategy=epl.ParameterServer())
    compiled = served.lower(params, x).compile()
    slots = compiled.plan.slots
    pulled = dict(enumerate(params))
    assert [slot.role in GIVEN for slot in slots[:3]] == [False, False, True]

    def alone() -> None:
        outside = runtime.module().OutsideTensors(compiled.plan, pulled)
        compiled.run([x], donate=True, outside=outside, as_numpy=True)

    def train() -> None:
        nonlocal params
        params, _ = compiled(params, x)

    meet(folder, "plan")
    plan = seconds_of(alone, steps)
    meet(folder, "step")
    found = seconds_of(train, steps)
    if WORKER == 0:
        print(json.dumps({"steps": found, "plan": plan}), flush=True)


if __name__ == "__main__":
    main()
