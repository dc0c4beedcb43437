"""Scripts of trainers, which tests run in several processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle

import epl
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


def transpile(trainer: int, count: int, mode: str, collective: str | None = None, group: int = 0) -> None:
    """As the guides do; gradients are summed within groups of so many trainers first, if it is a number."""
    config = fluid.DistributeTranspilerConfig()
    config.mode, config.collective_mode = mode, collective
    config.use_hierarchical_allreduce = bool(group)
    config.hierarchical_allreduce_inter_nranks = group
    endpoints = ENDPOINTS[:count]
    fluid.DistributeTranspiler(config=config).transpile(
        trainer, trainers=",".join(endpoints), current_endpoint=endpoints[trainer]
    )


def train(
    sizes: list[int], trainers: int, folder: str, says: bool, group: int = 0, communicators: int = 1
) -> None:
    """Trains on several devices, as one process or as one of several; writes losses, variables and the plan.

    Args:
      says: whether num_trainers and trainer_id are said to the executor, and not by the transpiler alone.
      group: as of `transpile`.
      communicators: if there are several, each gradient is summed by itself, and they take turns.
    """
    trainer = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
    here = len(sizes) // trainers
    os.environ["CPU_NUM"] = str(here)
    loss = network(seed=7 + trainer)  # all begin with the variables of trainer 0
    if trainers > 1:
        transpile(trainer, trainers, "nccl2", group=group)
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    options: dict[str, Any] = {"num_trainers": trainers, "trainer_id": trainer} if says else {}
    options["build_strategy"] = build = fluid.BuildStrategy()
    build.nccl_comm_num, build.fuse_all_reduce_ops = communicators, communicators == 1
    build.debug_graphviz_path = f"{folder}/{trainers}-{trainer}.dot"
    executor = fluid.ParallelExecutor(False, loss_name=loss.name, **options)
    losses = []
    for parts in batches(sizes):
        own = parts[trainer * here : (trainer + 1) * here]
        losses.append(executor.run([loss], feed=own)[0])
    scope = fluid.global_scope()
    values = {name: np.array(scope.var(name).get_tensor()) for name in sorted(scope.values)}
    np.savez(f"{folder}/{trainers}-{trainer}.npz", losses=np.array(losses), **values)


Change = Callable[[list[dict[str, Any]], dict[str, Any]], Any]

RATE = "learning_rate_0"

REFUSED: dict[str, Change] = {  # what a trainer gives instead of its feed, or does to its arguments
    "name": lambda feed, _: [{"x": each["x"]} for each in feed],
    "type": lambda feed, _: [{**each, "x": each["x"].astype(np.int64)} for each in feed],
    "shape": lambda feed, _: [{**each, "x": each["x"][:, :3]} for each in feed],
    "parts": lambda feed, _: feed[:1],
    "rows": lambda feed, _: {name: value[:1] for name, value in feed[0].items()},
    "kind": lambda feed, _: 3,
    "fetch": lambda _, arguments: arguments.update(fetch_list=["los"]),
    "no fetch": lambda _, arguments: arguments.update(fetch_list=[3]),
    "rate": lambda feed, _: [{**each, RATE: np.float32([0.1 + n])} for n, each in enumerate(feed)],
    "value": lambda _, arguments: arguments.update(loses="fc_0.w_0"),
}


def refuse(folder: str) -> None:
    """Two trainers, one of which has wrong arguments, each in turn; between them all train.

    Writes what each call raises, by the name of the case, and the losses of the others; then those of as many
    calls, from the begin, of which none is refused.
    """
    trainer, loss, executor = begun(devices=2)
    values = fluid.global_scope().values
    parts = batches([2, 3, 2, 3])[0][2 * trainer :][:2]
    raised, losses = {}, []
    for number, (name, change) in enumerate(REFUSED.items()):
        arguments: dict[str, Any] = {"fetch_list": [loss], "feed": parts}
        if number % 2 == trainer:
            changed = change(parts, arguments)
            arguments["feed"] = parts if changed is None else changed
        lost = arguments.pop("loses", None)
        kept = values.pop(lost, None)
        try:
            executor.run(**arguments)
        except epl.Error as error:
            raised[name] = f"{type(error).__name__}: {error}"
        if lost:
            values[lost] = kept
        losses.append(executor.run([loss], feed=parts)[0].tolist())
    executor = begin(loss)
    plain = [executor.run([loss], feed=parts)[0].tolist() for _ in losses]
    found = {"raised": raised, "losses": losses, "plain": plain}
    Path(f"{folder}/refused-{trainer}.json").write_text(json.dumps(found))


def feed_unlike(folder: str) -> None:
    """Two trainers whose feeds are right each for itself; writes what calls raise, and what they fetch."""
    trainer = int(os.environ["OMPI_COMM_WORLD_RANK"])
    os.environ["CPU_NUM"] = "1"
    x = fluid.layers.data("x", [-1, -1])
    loss = fluid.layers.mean(fluid.layers.square(fluid.layers.scale(x, 1.0)))
    w = fluid.layers.create_parameter([1], "float32", name="w")
    total = fluid.layers.elementwise_mul(loss, w)
    fluid.optimizer.SGD(0.0).minimize(total)
    transpile(trainer, 2, "nccl2")
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    executor = fluid.ParallelExecutor(False, loss_name=total.name)
    raised = []
    ones = np.ones((2, 3), np.float32)
    for feed in ({"x": ones[:, : 2 + trainer]}, {"x": ones, RATE: np.float32([trainer])}):
        try:
            executor.run([total], feed=feed)
        except epl.ArgumentError as error:
            raised.append(str(error))
    rate = fluid.global_scope().var(RATE).get_tensor().numpy().item()
    fetched = executor.run([[loss, x], []][trainer], feed={"x": (1 + trainer) * ones})
    Path(f"{folder}/unlike-{trainer}.json").write_text(
        json.dumps({"raised": raised, "rate": rate, "fetched": [np.shape(each) for each in fetched]})
    )


def begun(devices: int) -> tuple[int, Any, fluid.ParallelExecutor]:
    """One of two trainers of so many devices: its number, the loss, and what runs the program."""
    trainer = int(os.environ["OMPI_COMM_WORLD_RANK"])
    os.environ["CPU_NUM"] = str(devices)
    loss = network(seed=7)
    transpile(trainer, 2, "nccl2")
    return trainer, loss, begin(loss)


def begin(loss: Any) -> fluid.ParallelExecutor:
    """What runs the program with first values of its variables."""
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    return fluid.ParallelExecutor(False, loss_name=loss.name)


def refuse_to_begin(folder: str) -> None:
    """Trainer 1 says first that it shares with an executor that never ran; then both train."""
    trainer, loss, executor = begun(devices=1)
    wrong = fluid.ParallelExecutor(False, loss_name=loss.name, share_vars_from=executor)
    feed = batches([2])[0]
    try:
        (wrong if trainer else executor).run([loss], feed=feed)
    except epl.Error as error:
        Path(f"{folder}/begun-{trainer}.txt").write_text(f"{type(error).__name__}: {error}")
    executor.run([loss], feed=feed)


def train_and_end() -> None:
    """Trainer 1 ends with an error of its own between two runs."""
    trainer, loss, executor = begun(devices=1)
    for _ in range(3):
        executor.run([loss], feed=batches([2])[0])
    if trainer == 1:
        raise RuntimeError("the reader has no more files")
    executor.run([loss], feed=batches([2])[0])


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
        try:  # what trainer 1 refuses changes nothing
            executor.run(feed=feed, fetch_list=["v" if trainer else w])
        except epl.Error as error:
            print(f"{trainer}: {type(error).__name__}: {error}")
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
