"""Fluid's guide with parameter servers, which tests run as processes: `fluid_served.py NAME ARGUMENT ...`.

The environment says who a process is, by the variables of Fluid 1.4: `PADDLE_TRAINING_ROLE` and the like.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import epl
from epl import fluid

STEPS = 10
ROWS = 16  # of a trainer's batch


def network(optimizer: str = "Momentum") -> Any:
    """A network whose first matrix is cut for two servers; its loss."""
    fluid.default_startup_program().random_seed = 3
    fluid.default_main_program().random_seed = 5
    x = fluid.layers.data("x", [64])
    y = fluid.layers.data("y", [1])
    hidden = fluid.layers.fc(x, 320, act="tanh", param_attr=fluid.ParamAttr("hidden_w"))
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
    if optimizer == "decayed":
        rate = fluid.layers.piecewise_decay([3, 6], [0.002, 0.001, 0.0005])
        decay = fluid.regularizer.L2Decay(0.05)
        fluid.optimizer.Momentum(rate, 0.9, regularization=decay).minimize(loss)
        return loss
    rate = fluid.layers.exponential_decay(0.002, decay_steps=4, decay_rate=0.9)
    more = (0.9,) if optimizer == "Momentum" else ()
    getattr(fluid.optimizer, optimizer)(rate, *more).minimize(loss)
    return loss


def batch(step: int, trainer: int) -> dict[str, Any]:
    """A trainer's rows of a step."""
    random = np.random.default_rng([step, trainer])
    x = random.normal(size=(ROWS, 64)).astype(np.float32)
    return {"x": x, "y": x[:, :8].sum(1, keepdims=True)}


def joined(step: int, trainers: int) -> dict[str, Any]:
    """The rows of all."""
    parts = [batch(step, trainer) for trainer in range(trainers)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def variables(names: list[str]) -> dict[str, Any]:
    """The values of the scope."""
    return {name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in names}


def saved(loss: Any) -> list[str]:
    """The parameters, and what the optimizer has beside them."""
    program = loss.block.program
    kept = [each.name for each in program.list_vars() if each.persistable]
    ends = ("_w", ".b_0", ".w_0", "COUNTER@")
    return sorted(name for name in kept if name.endswith(ends) or "velocity" in name)


def configured(mode: str) -> tuple[Any, bool]:
    """The config of a mode, and `sync_mode`."""
    config = fluid.DistributeTranspilerConfig()
    config.print_log = True
    config.sync_mode = mode == "sync"
    config.half_async = mode == "half_async"
    config.enable_dc_asgd = mode == "dc_asgd"
    config.geo_sgd_mode = mode == "geo"
    config.geo_sgd_need_push_nums = 2
    return config, mode == "sync"


def begin(mode: str, executor: Any) -> tuple[Any, int]:
    """The program and the number of a trainer; a server does not come back."""
    servers, trainers = os.environ["PADDLE_PSERVER_IPS"], int(os.environ["PADDLE_TRAINERS"])
    trainer = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
    config, sync_mode = configured(mode)
    transpiler = fluid.DistributeTranspiler(config)
    transpiler.transpile(trainer, pservers=servers, trainers=trainers, sync_mode=sync_mode)
    if os.environ["PADDLE_TRAINING_ROLE"] == "PSERVER":
        endpoint = os.environ["PADDLE_CURRENT_ENDPOINT"]
        program = transpiler.get_pserver_program(endpoint)
        executor.run(transpiler.get_startup_program(endpoint, program))
        executor.run(program)
        print("came back")
        sys.exit(1)
    return transpiler.get_trainer_program(), trainer


def resume(folder: str, first: str, end: str) -> None:
    """Trains from what `fluid.io` has saved, if that is not the first step, and saves at the end."""
    loss = network()
    executor = fluid.Executor(fluid.CPUPlace())
    program, trainer = begin("sync", executor)
    executor.run(fluid.default_startup_program())
    if int(first) > 0:
        fluid.io.load_persistables(executor, f"{folder}/at {first}", program)
    for step in range(int(first), int(end)):
        executor.run(program, feed=batch(step, trainer), fetch_list=[loss])
    if trainer == 0:
        fluid.io.save_persistables(executor, f"{folder}/at {end}", program)
        np.savez(Path(folder) / f"at {end}.npz", **variables(saved(loss)))
    executor.close()


def runner(executor: Any, program: Any, loss: Any, devices: int, *, old: bool) -> Any:
    """Runs a trainer's program on devices; is called with a feed and what is fetched."""
    if devices == 1:
        return lambda feed, fetches: executor.run(program, feed=feed, fetch_list=fetches)
    if old:
        os.environ["CPU_NUM"] = str(devices)
        parallel = fluid.ParallelExecutor(False, loss_name=loss.name, main_program=program)
        return lambda feed, fetches: parallel.run(fetches, feed=feed)
    places = [fluid.CPUPlace()] * devices
    compiled = fluid.CompiledProgram(program).with_data_parallel(loss_name=loss.name, places=places)
    return lambda feed, fetches: executor.run(compiled, feed=feed, fetch_list=fetches)


def guide(
    folder: str,
    mode: str,
    optimizer: str = "Momentum",
    closes: str = "closes",
    devices: str = "1",
    kind: str = "",
) -> None:
    """The guide: one script for servers and trainers."""
    loss = network(optimizer)
    test_program = fluid.default_main_program().clone(for_test=True)
    executor = fluid.Executor(fluid.CPUPlace())
    program, trainer = begin(mode, executor)
    test_programs = [test_program, program.clone(for_test=True)]  # of before, and of a trainer's program
    executor.run(fluid.default_startup_program())
    run = runner(executor, program, loss, int(devices), old=kind == "old")
    losses, tested = [], []
    for step in range(STEPS):
        number = step if mode == "sync" else 0  # without sync only one batch has losses that tell something
        (value,) = run(batch(number, trainer), [loss.name])
        losses.append(np.mean(value))
        if mode == "sync":  # another program with these parameters, between steps
            of_step = test_programs[step % 2]
            tested.append(executor.run(of_step, feed=batch(0, 0), fetch_list=[loss.name])[0])
    values = {}
    if mode == "sync":
        (weight,) = run(batch(STEPS, trainer), ["hidden_w"])
        values = variables(saved(loss))
        np.testing.assert_array_equal(np.tile(values["hidden_w"], (int(devices), 1)), weight)
        if trainer == 0:
            fluid.io.save_persistables(executor, f"{folder}/saved", program)
    np.savez(Path(folder) / f"{trainer}.npz", losses=losses, tested=tested, **values)
    if closes == "closes":
        executor.close()
        try:
            executor.run(program)
        except epl.Error as error:
            print(f"trainer {trainer}: {error}")


def local(folder: str, trainers: str, optimizer: str) -> None:
    """The same in one process, on the joined batch; compares it with what trainer 0 has saved."""
    loss = network(optimizer)
    test_program = fluid.default_main_program().clone(for_test=True)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    losses, tested = [], []
    for step in range(STEPS + 1):
        (value,) = executor.run(feed=joined(step, int(trainers)), fetch_list=[loss])
        losses.append(np.mean(value))
        tested.append(executor.run(test_program, feed=batch(0, 0), fetch_list=[loss])[0])
    values = variables(saved(loss))
    np.savez(Path(folder) / "local.npz", losses=losses, tested=tested, **values)
    fluid.io.load_persistables(executor, f"{folder}/saved")
    for name, value in variables(saved(loss)).items():
        np.testing.assert_allclose(value, values[name], rtol=1e-4, atol=1e-6, err_msg=name)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
