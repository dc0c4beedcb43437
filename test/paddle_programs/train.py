"""What Paddle makes of programs that train: by its executor on one device. Run with Paddle 2.6.

    train.py FOLDER    writes NAME.program, NAME.startup, and NAME.npz: persistables before and after,
                       feeds, losses by step

`test/paddle_programs/training` has what Paddle 2.6.2 wrote.
"""

import numpy as np
import paddle
from answers import op, random_input, with_lines, write_all
from paddle import static

F = paddle.nn.functional
STEPS = 4
PROGRAMS = {}


def program(optimizer, **feeds):
    """A program by what makes its optimizer, and the shapes of what it is fed."""

    def enter(function):
        PROGRAMS[function.__name__] = (function, optimizer, feeds)
        return function

    return enter


@program(lambda: paddle.optimizer.SGD(0.1), x=[8, 12], label=[8, 1, ("int64", 5)])
def classifier(x, label):
    h = static.nn.fc(x, 16, activation="relu")
    h = static.nn.fc(h, 16, activation="tanh")
    h = static.nn.fc(h, 16, activation="sigmoid")
    likely = static.nn.fc(h, 5, activation="softmax")
    static.accuracy(likely, label)
    return paddle.mean(F.cross_entropy(likely, label, use_softmax=False, reduction="none"))


@program(lambda: paddle.optimizer.Adam(1e-2), image=[4, 1, 12, 12], label=[4, 1, ("int64", 5)])
def images(image, label):
    h = F.max_pool2d(static.nn.conv2d(image, 4, 5, padding=2, act="relu"), 2, 2, return_mask=False)
    h = static.nn.batch_norm(h)
    h = F.avg_pool2d(static.nn.conv2d(h, 8, 3), 2, 2)
    return paddle.mean(F.cross_entropy(static.nn.fc(h, 5), label, reduction="none"))


@program(
    lambda: paddle.optimizer.Momentum(
        0.1, 0.9, weight_decay=paddle.regularizer.L2Decay(1e-3), use_nesterov=True
    ),
    ids=[8, 6, ("int64", 30)],
    dense=[8, 3],
    y=[8, 1],
)
def recommender(ids, dense, y):
    rows = static.nn.embedding(ids, [30, 8], padding_idx=3)
    h = paddle.concat([paddle.sum(rows, 1), dense], axis=1)
    h = static.nn.fc(h, 8, activation="relu")
    return paddle.mean(F.binary_cross_entropy_with_logits(static.nn.fc(h, 1), F.sigmoid(y)))


@program(lambda: paddle.optimizer.AdamW(1e-2, weight_decay=0.05), ids=[4, 7, ("int64", 20)])
def attention(ids):
    h = static.nn.embedding(ids, [20, 16])
    h = static.nn.layer_norm(h, begin_norm_axis=2)
    parts = [static.nn.fc(h, 16, num_flatten_dims=2, bias_attr=False) for _ in range(3)]
    q, k, v = (paddle.transpose(paddle.reshape(each, [0, 7, 2, 8]), [0, 2, 1, 3]) for each in parts)
    weights = F.softmax(paddle.scale(paddle.matmul(q, k, transpose_y=True), 0.35))
    h = h + paddle.reshape(paddle.transpose(paddle.matmul(weights, v), [0, 2, 1, 3]), [0, 7, 16])
    scores = static.nn.fc(F.gelu(h), 20, num_flatten_dims=2)
    return paddle.mean(F.cross_entropy(scores, paddle.unsqueeze(ids, 2), reduction="none"))


@program(lambda: paddle.optimizer.SGD(0.05), x=[6, 8])
def functions(x):
    """Gradients of many ops, one after the other."""
    h = static.nn.fc(x, 8)
    a, b = paddle.split(h, 2, axis=1)
    a = paddle.sqrt(paddle.square(a) + 1.0) * paddle.exp(b * 0.1) - paddle.log(paddle.abs(b) + 1.0)
    b = F.leaky_relu(b, 0.1) + F.hardswish(b) + F.softplus(b) + F.silu(b)
    c = paddle.stack([a, b], axis=1)
    c = paddle.squeeze(paddle.unsqueeze(c, [0]), [0])
    c = c / (paddle.max(paddle.abs(c), axis=2, keepdim=True) + 1.0) + paddle.clip(c, -0.5, 0.5)
    d = paddle.maximum(c, 0.1 * c) - paddle.logsumexp(c, axis=2, keepdim=True)
    d = paddle.expand(paddle.slice(d, [1], [0], [1]), [6, 2, 4]) + paddle.tile(c[:, 1:2], [1, 2, 1])
    e = paddle.pow(paddle.abs(d) + 0.5, 1.5) * paddle.reciprocal(paddle.abs(d) + 1.0) + paddle.rsqrt(
        d * d + 1.0
    )
    e = F.log_softmax(paddle.flatten(e, 1, 2), axis=1) + paddle.where(h > 0, h, 2.0 * h)
    e = op("flatten2", {"axis": 1}, X=paddle.minimum(e, 0.2 * e)) - paddle.min(h, axis=1, keepdim=True)
    return paddle.mean(F.relu6(e) + F.square_error_cost(e, h) + F.smooth_l1_loss(e, h) + F.hardsigmoid(e))


def small(x, y):
    h = static.nn.fc(x, 6, activation="tanh")
    return paddle.mean(F.square_error_cost(static.nn.fc(h, 2), y))


OPTIMIZERS = {
    "adagrad": lambda: paddle.optimizer.Adagrad(0.1, initial_accumulator_value=0.1),
    "adadelta": lambda: paddle.optimizer.Adadelta(0.5, epsilon=1e-3, rho=0.9),
    "adamax": lambda: paddle.optimizer.Adamax(0.05),
    "momentum": lambda: paddle.optimizer.Momentum(0.1, 0.8),
    "rmsprop": lambda: paddle.optimizer.RMSProp(0.05, rho=0.9, momentum=0.3),
    "rmsprop_centered": lambda: paddle.optimizer.RMSProp(0.05, centered=True),
    "lamb": lambda: paddle.optimizer.Lamb(0.05, lamb_weight_decay=0.02),
    "clipped": lambda: paddle.optimizer.SGD(0.5, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.1)),
}
for kind, make in OPTIMIZERS.items():
    PROGRAMS[kind] = (small, make, {"x": [6, 4], "y": [6, 2]})


def values(program, scope):
    """The persistables of a program, as they are."""
    names = [each.name for each in program.list_vars() if each.persistable and scope.find_var(each.name)]
    tensors = {name: scope.find_var(name).get_tensor() for name in names}
    return {name: np.array(tensor) for name, tensor in tensors.items() if tensor._is_initialized()}


def write(name, folder):
    """Builds and trains a program, and saves it."""
    build, make_optimizer, feeds = PROGRAMS[name]
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    main.random_seed = startup.random_seed = 7
    random = np.random.default_rng(len(name))
    batches = [{key: random_input(random, shape) for key, shape in feeds.items()} for _ in range(STEPS)]
    executor = static.Executor(paddle.CPUPlace())
    with static.program_guard(main, startup), paddle.utils.unique_name.guard(), static.scope_guard(scope):
        variables = [static.data(key, [None, *x.shape[1:]], str(x.dtype)) for key, x in batches[0].items()]
        loss = build(*variables)
        make_optimizer().minimize(loss)
        executor.run(startup)
        before = values(main, scope)
        losses = [executor.run(main, feed=batch, fetch_list=[loss])[0] for batch in batches]
        after = values(main, scope)
    for suffix, each in (("program", main), ("startup", startup)):
        (folder / f"{name}.{suffix}").write_bytes(with_lines(each))
    arrays = {f"before:{key}": value for key, value in before.items()}
    arrays |= {
        f"after:{key}": after[key] for key, value in before.items() if not np.array_equal(after[key], value)
    }
    arrays |= {f"feed{step}:{key}": x for step, batch in enumerate(batches) for key, x in batch.items()}
    np.savez_compressed(folder / f"{name}.npz", losses=np.array(losses), loss=np.array(loss.name), **arrays)


if __name__ == "__main__":
    write_all(PROGRAMS, write)
