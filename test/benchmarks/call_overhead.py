"""What a call costs the program: a step of 20 small states and 2 batch arrays.

Its kernels do next to nothing. Rows, one JSON object a line: an asynchronous call (one that returns states
alone), as long as it holds the caller, beside the dispatch of `jax.jit`; a call that waits for its loss,
beside `jax.jit`, and what Python adds there to the runtime's own call on prepared arguments; the same call
with a typed random key among its states. Rounds are interleaved; each list has one figure for each round, the
median of its calls.

    python call_overhead.py [--rounds N]
"""

import argparse
import collections
import functools
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import epl

GOAL = 30e-6
BURST = 8  # calls that the queue takes without making the caller wait


def states_only(params: Any, x: Any, y: Any) -> Any:
    """A step that returns its states."""
    return jax.tree.map(lambda p: p * 0.5 + x[0, 0] * 0, params)


def with_loss(params: Any, x: Any, y: Any) -> Any:
    """A step that returns its states and a loss."""
    return states_only(params, x, y), x[0, 0] + y[0]


def with_key(state: Any, x: Any, y: Any) -> Any:
    """A step whose first state is a typed random key."""
    key, params = state
    params, loss = with_loss(params, x, y)
    return (jax.random.split(key)[0], params), loss


def arguments() -> tuple[Any, Any, Any]:
    """20 states, 2 batch arrays as a data loader gives them."""
    params = {f"layer{i}": {"w": jnp.ones((8, 8)), "b": jnp.ones(8)} for i in range(10)}
    return params, np.ones((16, 8), np.float32), np.ones(16, np.float32)


def wait_for(state: Any) -> None:
    """Waits for all states, of the front end or of the runtime."""
    for leaf in jax.tree.leaves(state):
        getattr(leaf, "block_until_ready", getattr(leaf, "wait", None))()


def burst(call: Callable[[Any], Any], state: Any) -> tuple[Any, float]:
    """The state after a few calls that are not waited for, and the median seconds of one."""
    times = []
    for _ in range(BURST):
        begin = time.perf_counter()
        state = call(state)
        times.append(time.perf_counter() - begin)
    wait_for(state)
    return state, statistics.median(times)


def prepared(step: Any, state: Any, x: Any, y: Any) -> Callable[[Any], Any]:
    """The runtime's own call of a step with a loss, on a list of its buffers."""
    session = step.lower(state, x, y).compile()._session
    donate = [leaf is not x and leaf is not y for leaf in jax.tree.leaves((state, x, y))]

    def call(buffers: Any) -> Any:
        results, ended = session.call([*buffers, x, y], donate, "step", waits=True)
        ended.wait()
        return results[: len(buffers)]

    return call


def build() -> dict[str, tuple[Callable[[Any], Any], Any]]:
    """What is measured: a call from state to state, and the first state."""
    first, x, y = arguments()
    parallel = functools.partial(epl.parallelize, state="params", batch=("x", "y"), devices=1)
    compiled = functools.partial(jax.jit, donate_argnums=0)
    fresh = functools.partial(jax.tree.map, jnp.array, first)

    def bare(step: Any) -> Callable[[Any], Any]:
        return lambda state: step(state, x, y)

    def waiting(step: Any) -> Callable[[Any], Any]:
        def call(state: Any) -> Any:
            state, loss = step(state, x, y)
            loss.block_until_ready()
            return state

        return call

    step = parallel(with_loss)
    buffers = [leaf.buffer for leaf in jax.tree.leaves(step(first, x, y)[0])]
    keyed = functools.partial(epl.parallelize, state="state", batch=("x", "y"), devices=1)
    return {
        "with a key": (waiting(keyed(with_key)), (jax.random.key(0), fresh())),
        "with a key, jax.jit": (waiting(compiled(with_key)), (jax.random.key(0), fresh())),
        "asynchronous": (bare(parallel(states_only)), fresh()),
        "asynchronous, jax.jit": (bare(compiled(states_only)), fresh()),
        "with a loss": (waiting(step), fresh()),
        "with a loss, jax.jit": (waiting(compiled(with_loss)), fresh()),
        "with a loss, runtime": (prepared(parallel(with_loss), first, x, y), buffers),
    }


def measure(rounds: int, bursts: int) -> dict[str, list[float]]:
    """Seconds of a call, for each round."""
    times: dict[str, list[float]] = collections.defaultdict(list)
    subjects = build()
    states = {name: state for name, (_, state) in subjects.items()}
    for warm in (True, *[False] * rounds):
        for name, (call, _) in subjects.items():
            found = []
            for _ in range(bursts):
                states[name], seconds = burst(call, states[name])
                found.append(seconds)
            if not warm:
                times[name].append(statistics.median(found))
    return times


def rows(times: dict[str, list[float]]) -> list[dict[str, Any]]:
    """The rows, as `table.Row` takes them."""
    total, own = times["with a loss"], times["with a loss, runtime"]
    share = [a - b for a, b in zip(total, own, strict=True)]
    step = "call of 22 arrays"
    return [
        {"what": f"{step}, not waiting", "ours": times["asynchronous"], "goal": GOAL},
        {
            "what": f"{step}, not waiting / jax.jit",
            "ours": times["asynchronous"],
            "peer": times["asynchronous, jax.jit"],
        },
        {"what": f"{step}, Python's share", "ours": share, "goal": GOAL},
        {
            "what": f"{step}, with its loss / jax.jit",
            "ours": total,
            "peer": times["with a loss, jax.jit"],
            "goal": 1.0,
        },
        {
            "what": f"{step} and a typed key, with its loss / jax.jit",
            "ours": times["with a key"],
            "peer": times["with a key, jax.jit"],
            "goal": 1.0,
        },
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--bursts", type=int, default=50, help="bursts of calls in a round")
    args = parser.parse_args()
    for row in rows(measure(args.rounds, args.bursts)):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
