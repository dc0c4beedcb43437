"""Layers of epl.fluid without parameters, each in a small net, by family; others: `fluid_layer_cases.py`.

`fluid.py` makes programs of families, with Paddle's answers; test_fluid_layers.py builds each layer alone.
"""

import numpy as np

from epl.fluid import input as fluid_input
from epl.fluid import layers

FEEDS = {
    "functions": {"x": [4, 6]},
    "elements": {"x": [4, 6], "y": [4, 6], "numbers": [4, 6, ("int64", 5)], "volume": [4, 3, 6]},
    "reductions": {"volume": [4, 3, 5]},
    "shapes": {"x": [4, 6], "volume": [4, 3, 6], "numbers": [4, 1, ("int64", 3)]},
    "rows": {"x": [4, 6], "y": [4, 6], "ids": [4, 1, ("int64", 4)]},
    "values": {"x": [4, 6], "ids": [4, 1, ("int64", 9)]},
}
"""What a family is fed: shapes, `int64, 5` behind one: numbers below 5."""

CASES = {family: {} for family in FEEDS}
"""Functions of what is fed, by their arguments' names, which give one result or several."""


def case(family):
    def enter(function):
        CASES[family][function.__name__] = function
        return function

    return enter


def positive(x):
    return layers.square(x) + 0.5


PLAIN = (
    "abs ceil cos elu erf exp floor gelu leaky_relu logsigmoid relu round selu sigmoid sign sin "
    "soft_relu softplus softsign square stanh swish tanh tanh_shrink"
)


def of_one(name, before=lambda x: x):
    CASES["functions"][name] = lambda x: getattr(layers, name)(before(x))


for each in PLAIN.split():
    of_one(each)
for each in ("log", "log1p", "reciprocal", "rsqrt", "sqrt"):
    of_one(each, positive)
for each in ("acos", "asin", "atan"):
    of_one(each, lambda x: layers.tanh(x) * 0.9)


@case("functions")
def functions_of_numbers(x):
    large = layers.scale(x, 4.0)
    return (
        layers.brelu(large, -1.0, 2.0),
        layers.gelu(x, True),
        layers.hard_shrink(x, 0.4),
        layers.hard_sigmoid(large),
        layers.hard_swish(large),
        layers.pow(positive(x), 1.5),
        layers.relu6(large, 6.0),
        layers.softshrink(x, 0.3),
        layers.thresholded_relu(x, 0.2),
        layers.clip(x, -0.5, 0.5),
        layers.clip_by_norm(x, 1.0),
        layers.softmax(x),
        layers.scale(x, 2.0, 1.0, bias_after_scale=False, act="relu"),
    )


def of_two(name):
    CASES["elements"][name] = lambda x, y: getattr(layers, name)(positive(x), positive(y))


def comparison(name):
    CASES["elements"][name] = lambda numbers: getattr(layers, name)(
        numbers, layers.fill_constant([1], "int64", 2)
    )


for each in ("add", "div", "max", "min", "mul", "pow", "sub"):
    of_two(f"elementwise_{each}")
for each in ("equal", "greater_equal", "greater_than", "less_equal", "less_than", "not_equal"):
    comparison(each)


@case("elements")
def elementwise_with_an_axis(volume, x):
    column = layers.reduce_sum(volume, dim=[2])
    return (
        layers.elementwise_add(volume, column, axis=0, act="tanh"),
        layers.elementwise_mul(volume, x[:, 0:3], axis=0),
        volume * 2.0 - 1.0,
        1.0 / positive(x),
    )


@case("elements")
def elementwise_of_integers(numbers):
    three = layers.fill_constant([1], "int64", 3)
    return layers.elementwise_floordiv(numbers, three), layers.elementwise_mod(numbers, three)


@case("elements")
def logical(numbers):
    two = layers.fill_constant([1], "int64", 2)
    a, b = layers.less_than(numbers, two), layers.equal(numbers, two)
    return (
        layers.logical_and(a, b),
        layers.logical_or(a, b),
        layers.logical_xor(a, b),
        layers.logical_not(a),
    )


def reduction(name):
    layer = getattr(layers, name)
    CASES["reductions"][name] = lambda volume: (
        layer(volume, dim=1),
        layer(volume, dim=[1, -1], keep_dim=True),
        layer(volume),
    )


for each in ("max", "mean", "min", "prod", "sum"):
    reduction(f"reduce_{each}")


@case("reductions")
def reduce_booleans(volume):
    positive = layers.greater_than(volume, layers.zeros([1], "float32"))
    return layers.reduce_all(positive, dim=1), layers.reduce_any(positive, dim=[1, 2])


@case("reductions")
def sums(volume):
    return (
        layers.mean(volume),
        layers.sums([volume, volume * 2.0]),
        layers.sum([volume, volume]),
        layers.cumsum(volume),
        layers.cumsum(volume, 1, exclusive=True, reverse=True),
        layers.l2_normalize(volume, 1),
        layers.l2_normalize(volume, -1),
        layers.argmax(volume, 1),
        layers.argmin(volume, -1),
        *layers.topk(volume, 2),
        *layers.argsort(volume, 1),
        *layers.argsort(volume, descending=True),
    )


@case("shapes")
def reshapes(x, volume):
    return (
        layers.reshape(volume, [0, -1]),
        layers.reshape(volume, [-1, 2, 9], act="relu"),
        layers.squeeze(layers.unsqueeze(x, [1]), [1]),
        layers.unsqueeze(x, [1, 3]),
        layers.flatten(volume, 1),
        layers.transpose(volume, [0, 2, 1]),
    )


@case("shapes")
def parts(x, volume):
    return (
        *layers.split(x, 3),
        *layers.split(volume, [2, -1], dim=-1),
        layers.slice(volume, [1, 2], [0, -4], [2, 5]),
        layers.strided_slice(volume, [2], [1], [6], [2]),
        *layers.unstack(volume, 1),
        volume[:, 1],
    )


@case("shapes")
def together(x, volume):
    return (
        layers.concat([x, layers.reshape(volume, [0, 18])], 1),
        layers.stack([x, x * 2.0], 1),
        layers.expand(volume, [1, 2, 1]),
        layers.expand_as(layers.unsqueeze(x, [1]), volume),
        layers.pad(volume, [0, 0, 1, 2, 0, 1], 0.5),
        layers.reverse(volume, [1, 2]),
    )


@case("shapes")
def chosen(x, numbers):
    return layers.multiplex([x, x * 2.0, x * 3.0], layers.cast(numbers, "int32"))


@case("rows")
def rows(x, y, ids):
    return (
        layers.gather(x, ids),
        layers.gather_nd(x, ids),
        layers.scatter(x, layers.reshape(ids, [-1])[0:1], y[0:1]),
        layers.scatter(x, layers.reshape(ids, [-1])[0:1], y[0:1], overwrite=False),
        layers.concat([x, y], 0),
        layers.stack([x, y], 0),
        layers.reverse(x, 0),
        layers.shape(x),
        layers.matmul(x, y, transpose_y=True, alpha=0.5),
        layers.expand(x, [2, 1]),
        layers.flatten(layers.unsqueeze(x, [1]), 2),
    )


@case("values")
def constants(x, ids):
    ones = layers.create_global_var([1], 1.5, "float32", persistable=True)
    return (
        x + layers.fill_constant([1], "float32", 0.25),
        x + layers.fill_constant_batch_size_like(x, [-1, 6], "float32", 1.5),
        layers.fill_constant_batch_size_like(ids, [2, -1], "float32", 1.5, output_dim_idx=1),
        layers.ones_like(x) * x,
        layers.zeros_like(ids),
        x * layers.ones([6], "float32") + layers.zeros([1], "float32"),
        x * ones,
        x + layers.assign(np.float32([1, 2, 3, 4, 5, 6])),
        layers.assign(x),
        x + layers.range(0, 6, 1, "float32"),
        x * layers.linspace(0, 1, 6, "float32"),
        layers.matmul(x, layers.eye(6, 3)),
    )


@case("values")
def integers(x, ids):
    return (
        layers.cast(x, "int32"),
        layers.cast(ids, "float32"),
        layers.one_hot(ids, 9),
        fluid_input.one_hot(ids, 9),
        layers.label_smooth(layers.one_hot(ids, 9), epsilon=0.2),
        layers.label_smooth(layers.one_hot(ids, 9), layers.ones([1, 9], "float32") / 9.0),
        layers.increment(layers.fill_constant([1], "float32", 0.5), 2.0),
        layers.sequence_mask(layers.squeeze(ids, [1]), 7, "float32"),
        layers.isfinite(x),
        layers.has_inf(x),
        layers.has_nan(layers.log(x)),
        layers.rank(x),
        layers.size(x),
    )
