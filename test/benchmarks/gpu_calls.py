"""The host's part of a step on a GPU: of a GPT, with a driver that does nothing.

The stand-in of the driver (test/cuda) takes the calls and performs nothing, so that no card is needed; the
time that it takes itself is counted. Rows, one JSON object a line, for one card, for four virtual devices on
one, and for four cards, between which a stand-in of NCCL moves as little: the runtime's own call on prepared
arguments, with its batch, until its loss has come. Rounds are interleaved; lists have one figure for each
round, the median of its calls.

    EPL_CUDA_IDLE=1 LD_LIBRARY_PATH=build/cuda EPL_NCCL=build/cuda/libnccl.so.2 python gpu_calls.py
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import jax

import epl
from models import MODELS

GOALS = {"cuda:0": 50e-6, "cuda:0x4": None, "cuda:0-3": None}


def prepared(devices: str) -> Callable[[], None]:
    """A call of the runtime on buffers that are there, and its end."""
    model = MODELS["GPT"]()
    states = list(range(len(model.state)))
    batch = (len(states), len(states) + 1)
    step = epl.parallelize(model.step, devices=devices, state=states, batch=batch)
    *state, _ = step(*model.state, *model.batch)
    session = step.lower(*state, *model.batch).compile()._session
    buffers = [leaf.buffer for leaf in jax.tree.leaves(state)]
    donate = [True] * len(buffers) + [False, False]

    def call() -> None:
        nonlocal buffers
        results, ended = session.call([*buffers, *model.batch], donate, "step", waits=True)
        ended.wait()
        buffers = results[: len(buffers)]

    return call


def measure(call: Callable[[], None], calls: int) -> float:
    """The median seconds of a call."""
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--calls", type=int, default=200, help="in a round")
    args = parser.parse_args()
    subjects = {devices: prepared(devices) for devices in GOALS}
    found: dict[str, list[float]] = {devices: [] for devices in subjects}
    for _ in range(args.rounds):
        for devices, call in subjects.items():
            found[devices].append(measure(call, args.calls))
    for devices, goal in GOALS.items():
        what = f"host's part of a step of GPT on {devices}"
        print(json.dumps({"what": what, "ours": found[devices], "goal": goal}))


if __name__ == "__main__":
    main()
