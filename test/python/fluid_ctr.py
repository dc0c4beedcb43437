"""A click-through model of Fluid with distributed embeddings, which tests run as processes.

`fluid_ctr.py NAME FOLDER ARGUMENT ...`; the environment says who a process is, as in fluid_served.py.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from epl import fluid
from fluid_served import begin, runner

STEPS = 8
SAMPLES = 8  # of a trainer's batch
ROWS, DIM, SEED, SCALE = 1000, 8, 3, 0.25
FEEDS = ["query", "title", "user", "clicks"]


def network(optimizer: str, *, distributed: bool = True) -> tuple[Any, Any]:
    """Two slots of words of one table, a third one of another, summed; the loss, and a program that tests."""
    fluid.default_startup_program().random_seed = SEED
    fluid.default_main_program().random_seed = 5
    slots = [fluid.layers.data(name, [4], dtype="int64") for name in ("query", "title")]
    user = fluid.layers.data("user", [1], dtype="int64")
    clicks = fluid.layers.data("clicks", [1])
    words = [
        fluid.layers.reduce_sum(
            fluid.embedding(
                slot,
                (ROWS, DIM),
                is_sparse=True,
                is_distributed=distributed,
                padding_idx=0,
                param_attr=fluid.ParamAttr("words", initializer=fluid.initializer.Uniform(-SCALE, SCALE)),
            ),
            dim=1,
        )
        for slot in slots
    ]
    users = fluid.layers.embedding(
        user,
        (ROWS, DIM),
        is_sparse=True,
        is_distributed=distributed,
        param_attr=fluid.ParamAttr("users", initializer=fluid.initializer.Constant(0.125)),
    )
    joined = fluid.layers.concat([*words, users], 1)
    hidden = fluid.layers.fc(joined, 16, act="tanh", param_attr="hidden_w")
    score = fluid.layers.fc(hidden, 1, param_attr="score_w")
    loss = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(score, clicks))
    test_program = fluid.default_main_program().clone(for_test=True)
    rate = fluid.layers.exponential_decay(0.5, 2, 0.9) if optimizer == "decayed" else 0.1
    getattr(fluid.optimizer, "SGD" if optimizer == "decayed" else optimizer)(rate).minimize(loss)
    return loss, test_program


def batch(step: int, trainer: int) -> dict[str, Any]:
    """A trainer's samples of a step, of ids that occur several times, and of padding."""
    random = np.random.default_rng([step % 4, trainer])
    return {
        "query": random.integers(0, 20, (SAMPLES, 4)),
        "title": random.integers(0, ROWS, (SAMPLES, 4)),
        "user": random.integers(0, 5, (SAMPLES, 1)),
        "clicks": random.integers(0, 2, (SAMPLES, 1)).astype(np.float32),
    }


def joined(step: int, trainers: int) -> dict[str, Any]:
    """The samples of all."""
    parts = [batch(step, trainer) for trainer in range(trainers)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def first_rows() -> np.ndarray[Any, Any]:
    """How rows of "words" begin: `runtime/servers/store/FirstRows.h`, with the seed that they have."""
    seed = SEED << 32 | zlib.crc32(b"words")
    words = [np.random.Philox(key=[seed, 0], counter=[0, row, 0, 0]).random_raw(DIM) for row in range(ROWS)]
    uniform = 2 * ((np.asarray(words) >> np.uint64(11)) / 2.0**53) - 1
    return (SCALE * uniform).astype(np.float32)


def all_rows(executor: Any) -> np.ndarray[Any, Any]:
    """All rows of "words", which a program of its own looks up."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        ids = fluid.data("ids", [-1], dtype="int64")
        rows = fluid.embedding(ids, (ROWS, DIM), is_sparse=True, param_attr="words")
        (found,) = executor.run(
            fluid.default_main_program(), feed={"ids": np.arange(ROWS)}, fetch_list=[rows]
        )
    return found


def train(folder: str, mode: str, optimizer: str, devices: str = "1") -> None:
    """A trainer, or a server."""
    loss, test_program = network(optimizer)
    executor = fluid.Executor(fluid.CPUPlace())
    program, trainer = begin(mode, executor)
    executor.run(fluid.default_startup_program())
    run = runner(executor, program, loss, int(devices), old=False)
    losses, tested = [], []
    for step in range(STEPS):
        number = step if mode == "sync" else 0  # without sync only one batch has losses that tell something
        (value,) = run(batch(number, trainer), [loss.name])
        losses.append(np.mean(value))
        if mode == "sync":
            tested.append(executor.run(test_program, feed=batch(0, 0), fetch_list=[loss.name])[0])
    values = {}
    if mode == "sync":
        run(batch(STEPS, trainer), [])  # all gradients of the steps before are there
        values["words"] = all_rows(executor)
        values["hidden_w"] = np.array(fluid.global_scope().find_var("hidden_w").get_tensor())
    np.savez(Path(folder) / f"{trainer}.npz", losses=losses, tested=tested, **values)
    executor.close()


def resume(folder: str, first: str, end: str) -> None:
    """Trains from what `fluid.io` has saved, if that is not the first step; saves behind step 2.

    Trainer 0 also saves a model for inference then, and notes its loss.
    """
    loss, test_program = network("Adagrad")
    executor = fluid.Executor(fluid.CPUPlace())
    program, trainer = begin("sync", executor)
    executor.run(fluid.default_startup_program())
    if int(first) > 0:
        fluid.io.load_persistables(executor, f"{folder}/saved", program)
    for step in range(int(first), int(end)):
        executor.run(program, feed=batch(step, trainer), fetch_list=[loss])
        if step == 1:
            fluid.io.save_persistables(executor, f"{folder}/saved", program)
        if step == 1 and trainer == 0:
            (tested,) = executor.run(test_program, feed=batch(0, 0), fetch_list=[loss.name])
            fluid.io.save_inference_model(f"{folder}/model", FEEDS, [loss], executor, program)
            np.savez(Path(folder) / "model.npz", tested=tested)
    executor.run(program, feed=batch(STEPS, trainer))
    if trainer == 0:
        np.savez(Path(folder) / f"from {first}.npz", words=all_rows(executor))
    executor.close()


def local(folder: str, trainers: str, optimizer: str) -> None:
    """The same in one process, on the joined batch, with embeddings that are parameters."""
    loss, test_program = network(optimizer, distributed=False)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    fluid.global_scope().find_var("words").get_tensor().set(first_rows())
    losses, tested = [], []
    for step in range(STEPS + 1):
        (value,) = executor.run(feed=joined(step, int(trainers)), fetch_list=[loss])
        losses.append(np.mean(value))
        tested.append(executor.run(test_program, feed=batch(0, 0), fetch_list=[loss])[0])
    values = {
        name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in ("words", "hidden_w")
    }
    np.savez(Path(folder) / "local.npz", losses=losses, tested=tested, **values)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
