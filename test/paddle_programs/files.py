"""Files that Paddle writes, and what is in them. Run with Paddle 2.6.

    files.py FOLDER    writes, of a program that has trained, NAME.pdparams and NAME.pdopt in protocols 2 to
                       4, a folder and a file of its persistable variables; of tensors of all dtypes a pickle
                       and a folder; of a layer two pickles; a tensor with levels of LoD; values in NAME.npz

`test/paddle_programs/files` has what Paddle 2.6.2 wrote.
"""

import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import static
from paddle.base import core
from paddle.static.io import is_persistable, save_vars

TENSORS = {
    "half": np.float16([[1.5, -2], [0.25, 65504]]),
    "bytes": np.int8([[-128], [127]]),
    "bools": np.array([True, False, True]),
    "double": np.float64([1 / 3]),
    "ids": np.int64([1 << 40, -1]),
    "number": np.array(2.5, np.float32),
    "empty": np.zeros((0, 4), np.float32),
}


def train():
    """A program, and the variables that it has trained."""
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 5
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        x = static.data("x", [None, 4])
        loss = paddle.mean(paddle.square(static.nn.fc(static.nn.fc(x, 3, activation="tanh"), 2)))
        paddle.optimizer.Momentum(0.1, 0.9).minimize(loss)
    executor = static.Executor(paddle.CPUPlace())
    executor.run(startup)
    executor.run(main, feed={"x": np.random.default_rng(0).normal(size=(6, 4)).astype("float32")})
    return main, executor


def values(program):
    """The persistable variables of a program, as they are."""
    names = [each.name for each in program.list_vars() if is_persistable(each)]
    return {name: np.array(static.global_scope().find_var(name).get_tensor()) for name in names}


def lod_tensor(value, lod=()):
    """A tensor of the core; bfloat16 is uint16 in NumPy."""
    tensor = core.LoDTensor()
    tensor.set(value, paddle.CPUPlace())
    tensor.set_recursive_sequence_lengths(list(lod))
    return tensor


def write_trained(folder):
    main, executor = train()
    for protocol in (2, 3, 4):
        static.save(main, str(folder / f"trained{protocol}"), protocol=protocol)
        (folder / f"trained{protocol}.pdmodel").unlink()
    for op in main.global_block().ops:
        op.desc._set_attr("op_callstack", ['  File "step.py", line 1, in <module>', "    op()"])
    (folder / "trained.program").write_bytes(main.desc.serialize_to_string())
    for name, filename in (("persistables", None), (".", "persistables.bin")):
        save_vars(executor, str(folder / name), main, predicate=is_persistable, filename=filename)
    np.savez_compressed(folder / "trained.npz", **values(main))


def write_tensors(folder):
    values = TENSORS | {"brain": np.uint16([0x3FC0, 0xC000])}
    tensors = {name: lod_tensor(value) for name, value in values.items()}
    for name, tensor in tensors.items():
        paddle.save(tensor, str(folder / "tensors" / name), use_binary_format=True)
    paddle.save(tensors, str(folder / "tensors.pdparams"))
    rows = lod_tensor(np.float32([[1], [2], [3]]), [[1, 2]])
    paddle.save(rows, str(folder / "lod"), use_binary_format=True)
    np.savez_compressed(folder / "tensors.npz", **values)


def write_layer(folder):
    paddle.disable_static()
    paddle.seed(3)
    layer = paddle.nn.Linear(3, 2)
    paddle.save(layer.state_dict(), str(folder / "layer.pdparams"))
    paddle.save({"weight": layer.weight, "steps": 3, "rates": [0.1, 0.2]}, str(folder / "named.pdparams"))
    np.savez_compressed(
        folder / "layer.npz", **{name: np.array(value) for name, value in layer.state_dict().items()}
    )


if __name__ == "__main__":
    paddle.enable_static()
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for write in (write_trained, write_tensors, write_layer):
        write(folder)
