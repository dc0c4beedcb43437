"""What Paddle answers: programs that it saves, and what it makes of random inputs. Run with Paddle 2.6.

    answers.py FOLDER    writes NAME.pdmodel, NAME.pdiparams and NAME.npz (inputs and results by position)

`test/paddle_programs/answers` has what Paddle 2.6.2 wrote; the tests read it without Paddle.
"""

import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import static

F = paddle.nn.functional
PROGRAMS = {}
OTHER_OUTPUTS = {"cross_entropy2": ("XShape", "MatchX"), "flatten2": ("XShape",), "top_k": ("Indices",)}


def program(**feeds):
    """A program by the shapes of what it is fed; `int64: 7` after a shape: numbers below 7."""

    def enter(function):
        PROGRAMS[function.__name__] = (function, feeds)
        return function

    return enter


@program(x=[5, 12])
def mlp(x):
    h = static.nn.fc(x, 16, activation="relu")
    h = static.nn.fc(h, 8, activation="tanh")
    return F.softmax(static.nn.fc(h, 5)), paddle.mean(h)


@program(image=[2, 3, 12, 12])
def cnn(image):
    h = static.nn.conv2d(image, 4, 5, padding=2, act="relu")
    h = F.max_pool2d(h, 2, 2)
    h = static.nn.batch_norm(h, is_test=True)
    h = static.nn.conv2d(h, 8, 3, groups=2, stride=2, padding="SAME", bias_attr=False)
    h = F.dropout(h, 0.3, training=False)
    h = F.avg_pool2d(h, 2, 1, padding=1, exclusive=True)
    return static.nn.fc(F.adaptive_avg_pool2d(h, 1), 10), F.adaptive_max_pool2d(h, 2), h


@program(ids=[4, 6, ("int64", 30)], dense=[4, 3])
def recommender(ids, dense):
    rows = static.nn.embedding(ids, [30, 8], padding_idx=3)
    h = paddle.concat([paddle.sum(rows, 1), dense], axis=1)
    return F.sigmoid(static.nn.fc(h, 1)), paddle.mean(rows, axis=[1, 2])


@program(ids=[2, 7, ("int64", 20)])
def attention(ids):
    h = static.nn.embedding(ids, [20, 16])
    h = static.nn.layer_norm(h, begin_norm_axis=2)
    parts = [static.nn.fc(h, 16, num_flatten_dims=2) for _ in range(3)]
    q, k, v = (paddle.transpose(paddle.reshape(each, [0, 7, 2, 8]), [0, 2, 1, 3]) for each in parts)
    weights = F.softmax(paddle.matmul(q, k, transpose_y=True) * 0.35)
    h = paddle.reshape(paddle.transpose(paddle.matmul(weights, v), [0, 2, 1, 3]), [0, 7, 16])
    return F.gelu(h), paddle.argmax(h, axis=-1), paddle.topk(h, 3)[0]


@program(x=[3, 4, 5])
def shapes(x):
    a, b = paddle.split(x, [1, -1], axis=1)
    rest = paddle.squeeze(paddle.unsqueeze(a, [0, 3]), [0])
    return (
        paddle.stack([a + 1, a * 2], axis=1),
        b[:, 1:3, ::1],
        paddle.tile(a, [1, 2, 1]),
        paddle.flip(b, [2]),
        rest,
        paddle.flatten(x, 1, 2),
        paddle.expand(a, [3, 4, 5]),
        paddle.cumsum(x, axis=2),
        F.pad(x, [1, 2], value=3.0, data_format="NCL"),
    )


@program(x=[4, 6], y=[4, 6])
def arithmetic(x, y):
    return (
        x - y,
        x / (paddle.abs(y) + 1),
        paddle.maximum(x, y),
        paddle.clip(x, -0.5, 0.5),
        paddle.where(x > y, x, y),
        paddle.sqrt(paddle.square(x)) + paddle.exp(y) * 2.0 + 1.0,
        F.leaky_relu(x, 0.1),
        F.hardswish(x),
        F.softplus(x),
        paddle.logsumexp(x, axis=1),
        paddle.max(x, axis=[0, 1], keepdim=True),
        paddle.cast(x > 0, "int32"),
        paddle.pow(paddle.abs(x), 1.5),
    )


@program(x=[6, 5], label=[6, 1, ("int64", 5)], real=[6, 5])
def losses(x, label, real):
    probabilities = F.softmax(x)
    return (
        F.cross_entropy(x, label, reduction="none"),
        F.cross_entropy(probabilities, label, use_softmax=False, reduction="mean"),
        F.binary_cross_entropy_with_logits(x, F.sigmoid(real), reduction="none"),
        F.square_error_cost(x, real),
        F.smooth_l1_loss(x, real),
        static.accuracy(probabilities, label, k=2),
        F.one_hot(label, 5),
    )


@program(x=[4, 6])
def functions(x):
    positive = paddle.abs(x) + 0.5
    return (
        paddle.ceil(x),
        paddle.cos(x),
        paddle.erf(x),
        paddle.floor(x),
        paddle.log(positive),
        paddle.log1p(positive),
        F.log_sigmoid(x),
        paddle.reciprocal(positive),
        F.relu6(4 * x),
        paddle.round(x * 3),
        paddle.rsqrt(positive),
        paddle.sign(x),
        F.silu(x),
        paddle.sin(x),
        F.softsign(x),
        F.hardsigmoid(4 * x),
        F.swish(x),
        F.log_softmax(x, axis=0),
        op("mean", X=x),
        paddle.assign(x),
    )


@program(x=[4, 6, ("int64", 3)], y=[4, 6, ("int64", 3)])
def comparisons(x, y):
    a, b = x > 0, y > 1
    return (
        paddle.equal(x, y),
        paddle.not_equal(x, y),
        x >= y,
        x <= y,
        x < y,
        paddle.logical_and(a, b),
        paddle.logical_or(a, b),
        paddle.logical_xor(a, b),
        paddle.logical_not(a),
        paddle.floor_divide(x - 1, y + 2),
        paddle.mod(x - 2, y + 2),
        paddle.minimum(x, y),
        x * y,
        paddle.cast(x, "float32") ** paddle.cast(y, "float32"),
        paddle.all(a, axis=1),
        paddle.any(b, axis=0),
    )


@program(x=[3, 4, 5])
def sums(x):
    return (
        paddle.min(x, axis=1),
        paddle.prod(x, axis=[0, 2]),
        paddle.norm(x, p=2, axis=1),
        paddle.norm(x, p=1, axis=2, keepdim=True),
        op("squared_l2_norm", X=x),
        op("cumsum", {"axis": 1, "exclusive": True, "reverse": True}, X=x),
        paddle.add_n([x, x * 2, x]),
        paddle.argmin(x, axis=1),
        paddle.mean(x, axis=[0, 1], keepdim=True),
        paddle.sum(x),
    )


@program(x=[6, 4], ids=[3, 2, ("int64", 6)], row=[1, 4])
def places(x, ids, row):
    return (
        paddle.gather(x, ids[:, 0]),
        paddle.gather(x, ids[:, 1] // 2, axis=1),
        paddle.gather_nd(x, ids // 2),
        paddle.full_like(x, 2.5),
        op("fill_zeros_like", X=x),
        op("fill_constant_batch_size_like", {"shape": [1, 2], "value": 1.5, "dtype": 5}, Input=ids),
        paddle.assign(np.float32([[1, 2], [3, 4]])) + 1,
        paddle.arange(0, 6, 2) + 1,
        paddle.shape(row) * 2,
        op("expand_as_v2", {"target_shape": [3, 4]}, X=row),
        *paddle.unstack(paddle.reshape(x[0:2], [2, 4])),
        op("top_k", {"k": 2}, X=x),
        op("lookup_table", {"padding_idx": 2}, W=paddle.assign(np.eye(6, dtype="float32")), Ids=ids[:, 0:1]),
    )


@program(x=[4, 6], y=[4, 6])
def old_names(x, y):
    volume = paddle.unsqueeze(x, 1)
    return (
        op("reshape", {"shape": [0, 2, -1]}, X=x),
        op("transpose", {"axis": [1, 0]}, X=x),
        volume,
        op("flatten2", {"axis": 2}, X=volume),
        op("matmul", {"transpose_X": False, "transpose_Y": True, "alpha": 0.5}, X=x, Y=y),
        op("pad", {"paddings": [1, 0, 2, 1], "pad_value": 2.0}, X=x),
        paddle.dot(x, y),
        paddle.bmm(volume, paddle.transpose(volume, [0, 2, 1])),
    )


@program(x=[6, 5], label=[6, 1, ("int64", 5)], real=[6, 5])
def old_losses(x, label, real):
    likely = F.softmax(x)
    shares = F.softmax(real)
    return (
        op("cross_entropy", {"soft_label": True}, "Y", X=likely, Label=shares),
        op("cross_entropy2", {}, "Y", X=likely, Label=label),
        op("log_loss", {"epsilon": 1e-4}, "Loss", Predicted=likely[:, 0:1], Labels=shares[:, 1:2]),
        F.binary_cross_entropy(likely, shares, reduction="none"),
        F.cross_entropy(x, shares, soft_label=True, reduction="none"),
        F.cross_entropy(x, label, ignore_index=2, reduction="none"),
    )


@program(image=[2, 4, 7, 9])
def windows(image):
    depthwise = static.nn.conv2d(image, 8, 3, groups=4, padding=[1, 2], use_cudnn=False)
    return (
        depthwise,
        static.nn.conv2d(image, 3, [3, 1], dilation=[2, 1], padding=[[0, 0], [0, 0], [1, 2], [0, 1]]),
        F.avg_pool2d(image, 3, 2, padding=1, exclusive=False),
        F.avg_pool2d(image, [2, 3], 2, ceil_mode=True),
        F.max_pool2d(image, 3, 2, padding=1, ceil_mode=True),
        F.adaptive_avg_pool2d(image, [3, 4]),
    )


def op(kind, attributes=None, output="Out", **inputs):
    """An op that no function of Paddle 2 makes any more."""
    block = static.default_main_program().global_block()
    first = next(iter(inputs.values()))
    made = block.create_var(name=paddle.utils.unique_name.generate(kind), dtype=first.dtype)
    outputs = {output: [made]}
    for other in OTHER_OUTPUTS.get(kind, ()):
        dtype = "int64" if other == "Indices" else first.dtype
        outputs[other] = [block.create_var(name=paddle.utils.unique_name.generate(kind), dtype=dtype)]
    given = {name: [value] for name, value in inputs.items()}
    block.append_op(type=kind, inputs=given, outputs=outputs, attrs=attributes or {})
    return made


def random_input(random, shape):
    """Random numbers of a shape, which may end in a dtype and a bound."""
    if isinstance(shape[-1], tuple):
        dtype, bound = shape[-1]
        return random.integers(0, bound, shape[:-1]).astype(dtype)
    return random.normal(size=shape).astype("float32")


def with_lines(program):
    """Its bytes; each op stands in the line of step.py that its number is, wherever it is made."""
    for number, op in enumerate(program.global_block().ops, 1):
        op.desc._set_attr("op_callstack", [f'  File "step.py", line {number}, in <module>', "    op()"])
    return program.desc.serialize_to_string()


def write(name, folder):
    """Builds, runs and saves a program."""
    build, feeds = PROGRAMS[name]
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    main.random_seed = startup.random_seed = 7
    random = np.random.default_rng(len(name))
    inputs = {key: random_input(random, shape) for key, shape in feeds.items()}
    executor = static.Executor(paddle.CPUPlace())
    with static.program_guard(main, startup), paddle.utils.unique_name.guard(), static.scope_guard(scope):
        variables = [
            static.data(key, [None, *each.shape[1:]], str(each.dtype)) for key, each in inputs.items()
        ]
        results = list(build(*variables))
        executor.run(startup)
        static.save_inference_model(str(folder / name), variables, results, executor, program=main)
        loaded, _, fetches = static.load_inference_model(str(folder / name), executor)
        found = executor.run(loaded, feed=inputs, fetch_list=fetches)
    file = folder / f"{name}.pdmodel"
    file.write_bytes(with_lines(static.deserialize_program(file.read_bytes())))
    arrays = {f"result{i}": np.asarray(each) for i, each in enumerate(found)}
    np.savez_compressed(folder / f"{name}.npz", **inputs, **arrays)


def write_all(names, write_one):
    """Writes programs to the folder that the command line names."""
    paddle.enable_static()
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name in names:
        write_one(name, folder)


if __name__ == "__main__":
    write_all(PROGRAMS, write)
