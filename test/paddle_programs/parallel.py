"""What Paddle's ParallelExecutor makes of programs on several places of a CPU. Run with Paddle 2.6.

    parallel.py FOLDER    writes NAME.program, and NAME.npz: persistables before, and losses by places, mode,
                          sizes of parts, step and place; and programs of one weight, to train and to test

Paddle 2.6 has the executor's C++ class, and no Python class for it any more. `test/paddle_programs/parallel`
has what Paddle 2.6.2 wrote; `batches.py` makes what is fed.
"""

import numpy as np
import paddle
from answers import with_lines, write_all
from batches import SIZES, batches
from paddle import static
from paddle.base import core

F = paddle.nn.functional
PROGRAMS = {}


def program(optimizer):
    """A program by what makes its optimizer."""

    def enter(function):
        PROGRAMS[function.__name__] = (function, optimizer)
        return function

    return enter


@program(lambda: paddle.optimizer.Momentum(0.05, 0.9))
def mlp():
    x, label = static.data("x", [None, 20]), static.data("label", [None, 1], "int64")
    h = static.nn.fc(static.nn.fc(x, 32, activation="relu"), 32, activation="relu")
    return paddle.mean(F.cross_entropy(static.nn.fc(h, 10), label, reduction="none"))


@program(lambda: paddle.optimizer.Adam(1e-3))
def cnn():
    image, label = static.data("image", [None, 1, 12, 12]), static.data("label", [None, 1], "int64")
    h = static.nn.batch_norm(F.max_pool2d(static.nn.conv2d(image, 4, 3, act="relu"), 2, 2))
    h = F.avg_pool2d(static.nn.conv2d(h, 6, 3, act="relu"), 2, 1)
    likely = static.nn.fc(h, 5, activation="softmax")
    static.accuracy(likely, label)
    return paddle.mean(F.cross_entropy(likely, label, use_softmax=False, reduction="none"))


@program(lambda: paddle.optimizer.Momentum(0.1, 0.9, weight_decay=paddle.regularizer.L2Decay(1e-4)))
def ctr():
    ids, y = static.data("ids", [None, 6], "int64"), static.data("y", [None, 1])
    h = paddle.sum(static.nn.embedding(ids, [50, 8]), 1)
    return paddle.mean(
        F.binary_cross_entropy_with_logits(static.nn.fc(static.nn.fc(h, 8, activation="relu"), 1), y)
    )


@program(lambda: paddle.optimizer.SGD(0.01))
def guide():
    return paddle.mean(static.nn.fc(static.data("x", [None, 1]), 10))


def tensor(value):
    made = core.LoDTensor()
    made.set(value, paddle.CPUPlace())
    return made


def executor(main, loss, places, mode, scope):
    """Paddle's ParallelExecutor, on so many places."""
    build, execution = static.BuildStrategy(), static.ExecutionStrategy()
    build.reduce_strategy = getattr(build.ReduceStrategy, mode)
    execution._use_device = core.DeviceType.CPU
    execution.num_threads = 2 * places
    place = core.Place()
    place.set_place(paddle.CPUPlace())
    persistables = sorted(variable.name for variable in main.list_vars() if variable.persistable)
    graph = core.Graph(main.desc)
    made = core.ParallelExecutor([place] * places, persistables, loss, scope, [], execution, build, graph)
    return made, graph


def losses(main, startup, before, loss, places, mode, sizes):
    """The loss of each step on each place, from the same values on."""
    scope = static.Scope()
    with static.scope_guard(scope):
        static.Executor(paddle.CPUPlace()).run(startup)
        for name, value in before.items():
            scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
        made, _graph = executor(main, loss, places, mode, scope)
        found = []
        for parts in batches(main.name, sizes):
            made.feed_tensors_into_local_scopes([{k: tensor(v) for k, v in part.items()} for part in parts])
            (values,) = made.run([loss], True)._move_to_list()
            found.append(np.array(values).reshape(-1))
    return np.array(found)


def write(name, folder):
    """Builds, runs and saves a program."""
    build, optimizer = PROGRAMS[name]
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    main.name = name
    main.random_seed = startup.random_seed = 7
    with static.program_guard(main, startup), paddle.utils.unique_name.guard(), static.scope_guard(scope):
        loss = build()
        optimizer().minimize(loss)
        static.Executor(paddle.CPUPlace()).run(startup)
        names = [variable.name for variable in main.list_vars() if variable.persistable]
        before = {each: np.array(scope.find_var(each).get_tensor()) for each in names}
    found = {
        f"{places}:{mode}:{kind}": losses(main, startup, before, loss.name, places, mode, sizes)
        for places, kinds in SIZES.items()
        for kind, sizes in kinds.items()
        for mode in ("AllReduce", "Reduce")
    }
    (folder / f"{name}.program").write_bytes(with_lines(main))
    kept = {f"before:{key}": value for key, value in before.items()}
    np.savez_compressed(folder / f"{name}.npz", loss=loss.name, **kept, **found)


def write_line(name, folder):
    """The mean or the sum of x w, of one weight, trained with a rate of 1."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        w = paddle.create_parameter(
            [1, 1], "float32", name="w", default_initializer=paddle.nn.initializer.Constant(1.0)
        )
        y = paddle.matmul(static.data("x", [None, 1]), w)
        loss = paddle.mean(y) if name == "mean" else paddle.sum(y)
        test = main.clone(for_test=True)
        paddle.optimizer.SGD(1.0).minimize(loss)
    for kind, each in (("program", main), ("test", test), ("startup", startup)):
        (folder / f"line_{name}.{kind}").write_bytes(with_lines(each))


if __name__ == "__main__":
    write_all(("mean", "sum"), write_line)
    write_all(PROGRAMS, write)
