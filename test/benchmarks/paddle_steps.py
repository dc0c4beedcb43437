"""Training steps of Paddle's programs on two CPU devices, beside Paddle's own executor in one process.

Needs Paddle, so it runs in `.venv-paddle`. Prints a line of JSON for each network, as `table.Row` takes it.
Both get the same batches and fetch the loss; a round is as many steps of each as fit into some seconds.

    paddle_steps.py [--rounds N] [--seconds S]
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

os.environ["CPU_NUM"] = "2"
from epl import fluid  # isort: skip  (before Paddle)

import paddle
from paddle import static
from paddle.base import core

F = paddle.nn.functional
DEVICES = 2


@dataclass(frozen=True)
class Network:
    """What builds a loss, its optimizer, what is fed, and the goal."""

    build: Callable[[], Any]
    optimizer: Callable[[], Any]
    feed: Callable[[np.random.Generator], dict[str, np.ndarray]]
    goal: float


def ctr() -> Any:
    """A recommender: rows of a table, and two layers."""
    ids, y = static.data("ids", [None, 8], "int64"), static.data("y", [None, 1])
    h = paddle.sum(static.nn.embedding(ids, [10000, 16]), 1)
    return paddle.mean(
        F.binary_cross_entropy_with_logits(static.nn.fc(static.nn.fc(h, 64, activation="relu"), 1), y)
    )


def cnn() -> Any:
    """The guides' network for digits of 28 x 28, with BatchNorm."""
    image, label = static.data("image", [None, 1, 28, 28]), static.data("label", [None, 1], "int64")
    h = static.nn.batch_norm(F.max_pool2d(static.nn.conv2d(image, 20, 5, act="relu"), 2, 2))
    h = F.avg_pool2d(static.nn.conv2d(h, 50, 5, act="relu"), 2, 2)
    return cross_entropy(static.nn.fc(h, 10), label)


def mlp() -> Any:
    """Two hidden layers of 1,024."""
    x, label = static.data("x", [None, 784]), static.data("label", [None, 1], "int64")
    h = static.nn.fc(static.nn.fc(x, 1024, activation="relu"), 1024, activation="relu")
    return cross_entropy(static.nn.fc(h, 10), label)


def guide() -> Any:
    """The example in the documentation of ParallelExecutor."""
    return paddle.mean(static.nn.fc(static.data("x", [None, 1]), 10))


def cross_entropy(scores: Any, label: Any) -> Any:
    """The mean of it."""
    return paddle.mean(F.cross_entropy(scores, label, reduction="none"))


def numbers(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """From 0 to 1."""
    return lambda random: random.random(shape, dtype=np.float32)


def labels(rows: int, below: int, columns: int = 1) -> Callable[[np.random.Generator], np.ndarray]:
    """Integers."""
    return lambda random: random.integers(0, below, (rows, columns))


def feeds(**makers: Callable[[np.random.Generator], np.ndarray]) -> Callable[[np.random.Generator], Any]:
    """A batch."""
    return lambda random: {name: make(random) for name, make in makers.items()}


MOMENTUM = 0.9
NETWORKS = {
    "CTR, batch of 256": Network(
        ctr,
        lambda: paddle.optimizer.Momentum(0.1, MOMENTUM, weight_decay=paddle.regularizer.L2Decay(1e-4)),
        feeds(ids=labels(256, 10000, 8), y=numbers(256, 1)),
        0.4,
    ),
    "CNN, batch of 32": Network(
        cnn,
        lambda: paddle.optimizer.Adam(1e-3),
        feeds(image=numbers(32, 1, 28, 28), label=labels(32, 10)),
        0.5,
    ),
    "MLP 784-1024-1024, batch of 256": Network(
        mlp,
        lambda: paddle.optimizer.Momentum(0.01, MOMENTUM),
        feeds(x=numbers(256, 784), label=labels(256, 10)),
        0.9,
    ),
    "the guide's example, batch of 32": Network(
        guide, lambda: paddle.optimizer.SGD(0.01), feeds(x=numbers(32, 1)), 0.5
    ),
}


def tensor(value: np.ndarray) -> Any:
    """As Paddle's core takes it."""
    made = core.LoDTensor()
    made.set(value, paddle.CPUPlace())
    return made


class Peer:
    """Paddle's executor: the C++ class, which Paddle 2.6 still has."""

    def __init__(self, program: Any, loss: str, values: dict[str, np.ndarray]) -> None:
        scope = static.Scope()
        for name, value in values.items():
            scope.var(name).get_tensor().set(value, paddle.CPUPlace())
        build, execution = static.BuildStrategy(), static.ExecutionStrategy()
        execution._use_device, execution.num_threads = core.DeviceType.CPU, 2 * DEVICES
        place = core.Place()
        place.set_place(paddle.CPUPlace())
        self._graph, self._loss = core.Graph(program.desc), loss
        self._executor = core.ParallelExecutor(
            [place] * DEVICES, sorted(values), loss, scope, [], execution, build, self._graph
        )

    def step(self, feed: dict[str, np.ndarray]) -> np.ndarray:
        """The losses of a step."""
        self._executor.feed_and_split_tensor_into_local_scopes(
            {name: tensor(value) for name, value in feed.items()}
        )
        return np.array(self._executor.run([self._loss], True)._move_to_list()[0])


def steps_of(network: Network) -> tuple[Callable[[Any], np.ndarray], Callable[[Any], np.ndarray], Any]:
    """Ours, the peer's, and a batch."""
    main, startup, scope = static.Program(), static.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        loss = network.build()
        network.optimizer().minimize(loss)
        fluid.Executor().run(startup)
        values = {name: scope.var(name).get_tensor().numpy() for name in list(scope.values)}
        ours = fluid.ParallelExecutor(False, loss_name=loss.name)
    peer = Peer(main, loss.name, values)
    feed = network.feed(np.random.default_rng(0))
    return (lambda batch: ours.run([loss.name], batch)[0]), peer.step, feed


def seconds_each(step: Callable[[Any], Any], feed: Any, seconds: float) -> float:
    """Of a step, over so many as fit."""
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds or count < 3:
        step(feed)
        count += 1
    return (time.perf_counter() - begin) / count


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of an engine in a round")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, network in NETWORKS.items():
        ours, peer, feed = steps_of(network)
        np.testing.assert_allclose(ours(feed), peer(feed), rtol=1e-4)
        found: dict[str, list[float]] = {"ours": [], "peer": []}
        for _ in range(args.rounds):
            found["ours"].append(seconds_each(ours, feed, args.seconds))
            found["peer"].append(seconds_each(peer, feed, args.seconds))
        row = {"what": f"step of Paddle's {name}, cpu:2 / ParallelExecutor", **found, "goal": network.goal}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
