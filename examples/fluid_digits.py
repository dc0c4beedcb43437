"""Trains and tests a network on images of digits as the guides of Paddle Fluid do.

    scripts/setup --paddle
    CPU_NUM=2 .venv-paddle/bin/python examples/fluid_digits.py

The network is built by Paddle 2.6 and run by EPL, on as many CPU devices as CPU_NUM says. Paddle 2.6 still
has the engine of its ParallelExecutor, and no class of that name; its losses on the same batches stand beside
EPL's.
"""

import argparse
import os

import numpy as np
from sklearn.datasets import load_digits

from epl import fluid

BATCH = 63  # which two devices do not share evenly


def network():
    """The guides' network for digits: two convolutions with pooling, and a softmax."""
    image = fluid.layers.data("image", shape=[1, 8, 8])
    label = fluid.layers.data("label", shape=[1], dtype="int64")
    hidden = fluid.nets.simple_img_conv_pool(
        image, num_filters=8, filter_size=3, pool_size=2, pool_stride=2, act="relu"
    )
    hidden = fluid.layers.batch_norm(hidden)
    hidden = fluid.layers.fc(hidden, size=64, act="tanh")
    prediction = fluid.layers.fc(hidden, size=10, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, label))
    accuracy = fluid.layers.accuracy(prediction, label)
    return loss, accuracy


def batches(epochs):
    digits = load_digits()
    images = (digits.images / 16).astype("float32").reshape(-1, 1, 8, 8)
    labels = digits.target.astype("int64").reshape(-1, 1)
    random = np.random.default_rng(0)
    train, test = slice(300, None), slice(0, 300)
    count = len(images[train])
    for _ in range(epochs):
        order = random.permutation(count)
        for begin in range(0, count - BATCH + 1, BATCH):
            rows = order[begin : begin + BATCH]
            yield {"image": images[train][rows], "label": labels[train][rows]}
    yield {"image": images[test], "label": labels[test]}


class PaddleExecutor:
    """Paddle's own ParallelExecutor on CPU places: its engine, which has lost its class."""

    def __init__(self, program, loss_name, values):
        from paddle import CPUPlace, static
        from paddle.base import core

        self._core, self._place = core, CPUPlace()
        scope = static.Scope()
        for name, value in values.items():
            scope.var(name).get_tensor().set(value, self._place)
        build, execution = static.BuildStrategy(), static.ExecutionStrategy()
        execution._use_device = core.DeviceType.CPU
        self._count = int(os.environ["CPU_NUM"])
        execution.num_threads = 2 * self._count
        place = core.Place()
        place.set_place(self._place)
        self._graph = core.Graph(program.desc)
        self._executor = core.ParallelExecutor(
            [place] * self._count, sorted(values), loss_name, scope, [], execution, build, self._graph
        )

    def run(self, parts, fetches):
        self._executor.feed_tensors_into_local_scopes(
            [{name: self._tensor(value) for name, value in part.items()} for part in parts]
        )
        return [np.array(value) for value in self._executor.run(fetches, True)._move_to_list()]

    def _tensor(self, value):
        tensor = self._core.LoDTensor()
        tensor.set(value, self._place)
        return tensor


def parts_of(feed, count):
    """As the guides cut a batch: what is left goes to the last device."""
    ends = [len(feed["label"]) // count * index for index in range(1, count)]
    columns = {name: np.split(value, ends) for name, value in feed.items()}
    return [{name: column[device] for name, column in columns.items()} for device in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3, help="how often all images are seen")
    options = parser.parse_args()

    use_cuda, memory_opt = False, True
    train_program, startup_program = fluid.default_main_program(), fluid.default_startup_program()
    train_program.random_seed = startup_program.random_seed = 7
    loss, accuracy = network()
    test_program = train_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.005).minimize(loss)

    # From here on it is the code of the guides.
    place = fluid.CUDAPlace(0) if use_cuda else fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    dev_count = len(fluid.cpu_places())
    exec_strategy = fluid.ExecutionStrategy()
    exec_strategy.num_threads = dev_count * 4  # the size of thread pool.
    build_strategy = fluid.BuildStrategy()
    build_strategy.memory_optimize = memory_opt
    train_exe = fluid.ParallelExecutor(
        use_cuda=use_cuda,
        main_program=train_program,
        build_strategy=build_strategy,
        exec_strategy=exec_strategy,
        loss_name=loss.name,
    )
    test_exe = fluid.ParallelExecutor(
        use_cuda=use_cuda,
        main_program=test_program,
        build_strategy=fluid.BuildStrategy(),
        exec_strategy=fluid.ExecutionStrategy(),
        share_vars_from=train_exe,
    )

    scope = fluid.global_scope()
    values = {
        variable.name: np.array(scope.find_var(variable.name).get_tensor())
        for variable in train_program.list_vars()
        if variable.persistable
    }
    paddle_exe = PaddleExecutor(train_program, loss.name, values)
    *train, test = batches(options.epochs)
    differences = []
    for step, feed_dict in enumerate(train):
        (train_loss,) = train_exe.run(fetch_list=[loss.name], feed=feed_dict)
        (paddle_loss,) = paddle_exe.run(parts_of(feed_dict, dev_count), [loss.name])
        differences.append(np.max(np.abs(train_loss - paddle_loss) / np.abs(paddle_loss)))
        if step % 20 == 0:
            print(f"step {step}: losses of the devices {train_loss}, Paddle's {paddle_loss}")
    test_loss, test_accuracy = test_exe.run(fetch_list=[loss.name, accuracy.name], feed=test)
    print(f"test: loss {np.mean(test_loss):.4f}, accuracy {np.mean(test_accuracy):.3f}")
    print(f"the losses differ from Paddle's by {max(differences[:10]):.1e} in the first 10 steps, relatively")


if __name__ == "__main__":
    main()
