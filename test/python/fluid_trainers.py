"""Scripts of trainers, which tests run in several processes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import paddle

from epl import fluid

ENDPOINTS = [f"127.0.0.1:{6174 + number}" for number in range(4)]


def network(seed: int) -> Any:
    """A network with BatchNorm; its loss."""
    fluid.default_startup_program().random_seed = seed
    x = fluid.layers.data("x", [4])
    y = fluid.layers.data("y", [1])
    h = fluid.layers.batch_norm(fluid.layers.fc(x, 6, act="tanh"))
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(h, 1), y))
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return loss


def batches(sizes: list[int]) -> list[list[dict[str, Any]]]:
    """For each step what each device is fed."""
    random = np.random.default_rng(0)
    return [
        [
            {"x": random.random((rows, 4), dtype=np.float32), "y": random.random((rows, 1), dtype=np.float32)}
            for rows in sizes
        ]
        for _ in range(6)
    ]


def transpile(trainer: int, count: int, mode: str, collective: str | None = None) -> None:
    """As the guides do."""
    config = fluid.DistributeTranspilerConfig()
    config.mode, config.collective_mode = mode, collective
    endpoints = ENDPOINTS[:count]
    fluid.DistributeTranspiler(config=config).transpile(
        trainer, trainers=",".join(endpoints), current_endpoint=endpoints[trainer]
    )


def train(sizes: list[int], trainers: int, folder: str, says: bool) -> None:
    """Trains on several devices, as one process or as one of several; writes losses and variables.

    Args:
      says: whether num_trainers and trainer_id are said to the executor, and not by the transpiler alone.
    """
    trainer = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
    here = len(sizes) // trainers
    os.environ["CPU_NUM"] = str(here)
    loss = network(seed=7 + trainer)  # all begin with the variables of trainer 0
    if trainers > 1:
        transpile(trainer, trainers, "nccl2")
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    options = {"num_trainers": trainers, "trainer_id": trainer} if says else {}
    executor = fluid.ParallelExecutor(False, loss_name=loss.name, **options)
    losses = []
    for parts in batches(sizes):
        own = parts[trainer * here : (trainer + 1) * here]
        losses.append(executor.run([loss], feed=own)[0])
    scope = fluid.global_scope()
    values = {name: np.array(scope.var(name).get_tensor()) for name in sorted(scope.values)}
    np.savez(f"{folder}/{trainers}-{trainer}.npz", losses=np.array(losses), **values)


def train_alone(trainers: int, collective: str, folder: str) -> None:
    """One device a process; the program exchanges by its own ops. Writes the weight after each step."""
    trainer = int(os.environ["OMPI_COMM_WORLD_RANK"])
    x = fluid.layers.data("x", [1])
    fluid.default_startup_program().random_seed = 1 + trainer
    uniform = fluid.initializer.Uniform(-1.0, 1.0)
    w = fluid.layers.create_parameter([1, 1], "float32", name="w", default_initializer=uniform)
    loss = fluid.layers.mean(fluid.layers.matmul(x, w))
    fluid.optimizer.SGD(1.0).minimize(loss)
    transpile(trainer, trainers, "collective", collective)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    tensor = fluid.global_scope().var("w").get_tensor()
    found = [tensor.numpy().item()]
    for step in range(3):
        feed = {"x": np.float32([[1.0 + step + 2 * trainer]])}
        (value,) = executor.run(feed=feed, fetch_list=[w])
        found.append(value.item())
    assert found[-1] == tensor.numpy().item()
    np.savez(f"{folder}/{collective}-{trainer}.npz", w=found)


def train_wrong(trainers: int) -> None:
    """A trainer that says another number than its launcher does."""
    paddle.seed(1)
    loss = network(seed=1)
    os.environ["CPU_NUM"] = "1"
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    executor = fluid.ParallelExecutor(False, loss_name=loss.name, num_trainers=trainers, trainer_id=0)
    executor.run([], feed=batches([2])[0][0])
