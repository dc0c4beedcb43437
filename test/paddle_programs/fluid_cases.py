"""Layers of epl.fluid, each in a small net: what it is fed, by family.

`fluid.py` makes programs of families, with Paddle's answers; test_fluid_layers.py builds each layer alone.
"""

import inspect

import numpy as np

from epl.fluid import input as fluid_input
from epl.fluid import layers, nets
from epl.fluid.initializer import Bilinear, Normal, NumpyArrayInitializer, Uniform, Xavier
from epl.fluid.param_attr import ParamAttr

FEEDS = {
    "functions": {"x": [4, 6]},
    "elements": {"x": [4, 6], "y": [4, 6], "numbers": [4, 6, ("int64", 5)], "volume": [4, 3, 6]},
    "reductions": {"volume": [4, 3, 5]},
    "shapes": {"x": [4, 6], "volume": [4, 3, 6], "numbers": [4, 1, ("int64", 3)]},
    "rows": {"x": [4, 6], "y": [4, 6], "ids": [4, 1, ("int64", 4)]},
    "images": {"image": [2, 4, 6, 6]},
    "groups": {"image": [2, 4, 3, 3]},
    "losses": {"x": [6, 5], "y": [6, 5], "label": [6, 1, ("int64", 5)], "click": [6, 1, ("int64", 2)]},
    "parameters": {"x": [4, 6], "y": [4, 5], "ids": [4, 1, ("int64", 9)], "words": [4, 3, ("int64", 9)]},
    "values": {"x": [4, 6], "ids": [4, 1, ("int64", 9)]},
    "metrics": {"x": [6, 2], "label": [6, 1, ("int64", 2)]},
    "nets": {"image": [2, 3, 8, 8], "q": [2, 4, 6], "k": [2, 5, 6], "v": [2, 5, 8]},
}
"""What a family is fed: shapes, `int64, 5` behind one: numbers below 5."""

TRAINED = sorted(set(FEEDS) - {"groups", "metrics"})
"""Families whose gradients are Paddle's: groups' are wrong in 2.6.2 (no mean of them is subtracted)."""

CASES = {family: {} for family in FEEDS}
"""Functions of what is fed, by their arguments' names, which give one result or several."""


def case(family):
    def enter(function):
        CASES[family][function.__name__] = function
        return function

    return enter


def build(family, name, feeds):
    """The results of a case."""
    function = CASES[family][name]
    found = function(*(feeds[each] for each in inspect.signature(function).parameters))
    return list(found) if isinstance(found, (list, tuple)) else [found]


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


@case("images")
def conv2d(image):
    return (
        layers.conv2d(image, 3, 3, padding=1, act="relu"),
        layers.conv2d(image, 4, [3, 2], stride=2, groups=2, bias_attr=False),
        layers.conv2d(image, 2, 3, dilation=2, padding="SAME"),
        layers.conv2d(image, 8, 3, groups=4, use_cudnn=False),
    )


@case("images")
def conv2d_transpose(image):
    return (
        layers.conv2d_transpose(image, 3, filter_size=3, stride=2, padding=1),
        layers.conv2d_transpose(image, 2, output_size=[13, 14], filter_size=3, stride=2, act="tanh"),
        layers.conv2d_transpose(image, 4, filter_size=2, groups=2, dilation=2, bias_attr=False),
        layers.conv2d_transpose(
            image,
            4,
            filter_size=4,
            stride=2,
            padding=1,
            groups=4,
            param_attr=ParamAttr(initializer=Bilinear()),
            use_cudnn=False,
        ),
    )


@case("images")
def pool2d(image):
    return (
        layers.pool2d(image, 2, "max", 2),
        layers.pool2d(image, 3, "avg", 2, 1),
        layers.pool2d(image, 3, "avg", 2, [1, 0], exclusive=False),
        layers.pool2d(image, 3, "max", 2, "SAME"),
        layers.pool2d(image, 3, "max", 2, [[0, 0], [0, 0], [1, 0], [0, 1]], ceil_mode=True),
        layers.pool2d(image, pool_type="avg", global_pooling=True),
        layers.adaptive_pool2d(image, 3, "avg"),
        layers.adaptive_pool2d(image, [2, 3], "max"),
    )


@case("images")
def normalizations(image):
    return (
        layers.batch_norm(image, act="relu"),
        layers.layer_norm(image),
        layers.layer_norm(image, scale=False, begin_norm_axis=2),
        layers.instance_norm(image),
        layers.lrn(image, n=3),
        layers.data_norm(layers.flatten(image)),
    )


@case("groups")
def group_norm(image):
    return (
        layers.group_norm(image, 2),
        layers.group_norm(image, 4, param_attr=False, bias_attr=False, act="relu"),
    )


@case("images")
def channels(image):
    scale = layers.create_parameter([4], "float32", attr=ParamAttr(initializer=Normal(1.0, 0.1)))
    bias = layers.create_parameter([4], "float32", is_bias=True)
    return (
        layers.affine_channel(image, scale, bias, act="relu"),
        layers.maxout(image, 2),
        layers.prelu(image, "all"),
        layers.prelu(image, "channel"),
        layers.prelu(image, "element"),
        layers.pixel_shuffle(image, 2),
        layers.shuffle_channel(image, 2),
        layers.pad2d(image, [1, 0, 2, 1], pad_value=0.5),
        layers.pad2d(image, [1, 2, 0, 1], "reflect"),
        layers.pad2d(image, [1, 1, 1, 1], "edge"),
    )


@case("images")
def resized(image):
    return (
        layers.image_resize(image, [9, 4]),
        layers.resize_bilinear(image, scale=1.5, align_corners=False, align_mode=0),
        layers.resize_bilinear(image, [11, 3], align_corners=False),
        layers.resize_nearest(image, [9, 4]),
        layers.resize_nearest(image, scale=2.0, align_corners=False),
    )


@case("losses")
def cross_entropy(x, y, label):
    likely = layers.softmax(x)
    return (
        layers.cross_entropy(likely, label),
        layers.cross_entropy(likely, label, ignore_index=2),
        layers.cross_entropy(likely, layers.softmax(y), soft_label=True),
        *layers.softmax_with_cross_entropy(x, label, return_softmax=True),
        layers.softmax_with_cross_entropy(x, label, ignore_index=1),
        layers.softmax_with_cross_entropy(x, layers.softmax(y), soft_label=True),
    )


@case("losses")
def regressions(x, y):
    return (
        layers.square_error_cost(x, y),
        layers.mse_loss(x, y),
        layers.huber_loss(x, y, 0.7),
        layers.smooth_l1(x, y),
        layers.smooth_l1(x, y, layers.sigmoid(x), layers.sigmoid(y), 2.0),
        layers.cos_sim(x, y),
    )


@case("losses")
def probabilities(x, y, click):
    share, wanted = layers.sigmoid(x[:, 0:1]), layers.cast(click, "float32")
    return (
        layers.log_loss(share, wanted),
        layers.sigmoid_cross_entropy_with_logits(x, layers.sigmoid(y)),
        layers.sigmoid_cross_entropy_with_logits(x[:, 1:2], wanted, ignore_index=1, normalize=True),
        layers.kldiv_loss(layers.log(layers.softmax(x)), layers.softmax(y)),
        layers.kldiv_loss(layers.log(layers.softmax(x)), layers.softmax(y), "none"),
        layers.kldiv_loss(layers.log(layers.softmax(x)), layers.softmax(y), "batchmean"),
        layers.kldiv_loss(layers.log(layers.softmax(x)), layers.softmax(y), "sum"),
    )


@case("losses")
def rankings(x, y, label, click):
    left, right, wanted = x[:, 0:1], y[:, 0:1], layers.cast(click, "float32")
    return (
        layers.rank_loss(wanted, left, right),
        layers.margin_rank_loss(wanted * 2.0 - 1.0, left, right, 0.2),
        layers.hinge_loss(left, wanted),
        layers.bpr_loss(layers.softmax(x), label),
        layers.teacher_student_sigmoid_loss(left, wanted * 2.5 - 2.0),
        layers.teacher_student_sigmoid_loss(right, layers.sigmoid(x[:, 1:2]) + wanted),
        layers.dice_loss(layers.softmax(x), label),
    )


@case("parameters")
def fc(x, y):
    return (
        layers.fc(x, 3, act="relu"),
        layers.fc([x, y], 4, param_attr=ParamAttr(learning_rate=0.5, initializer=Xavier(uniform=False))),
        layers.fc(layers.reshape(x, [0, 2, 3]), 2, num_flatten_dims=2, bias_attr=False),
        layers.fc(x, 2, param_attr=ParamAttr(trainable=False)),
        layers.fc(y, 3, act="softmax", bias_attr=ParamAttr(initializer=Uniform())),
    )


@case("parameters")
def embedding(ids, words):
    numbers = NumpyArrayInitializer(np.linspace(-1, 1, 27, dtype="float32").reshape(9, 3))
    return (
        layers.embedding(ids, [9, 3], param_attr=ParamAttr("table", numbers)),
        layers.embedding(ids, [9, 4], is_sparse=True, padding_idx=2),
        layers.embedding(layers.unsqueeze(words, [2]), [9, 4], padding_idx=-1),
        fluid_input.embedding(words, [9, 2], is_sparse=True, padding_idx=1),
        fluid_input.embedding(words, [9, 3], param_attr="table"),
    )


@case("parameters")
def products(x, y):
    weights = layers.create_parameter([6, 5], "float32", default_initializer=Normal(0.0, 0.3))
    matrices = layers.reshape(x, [0, 2, 3])
    return (
        layers.mul(x, weights),
        layers.matmul(x, weights),
        layers.matmul(weights, weights, transpose_x=True, alpha=0.3),
        layers.matmul(matrices, matrices, transpose_y=True),
        layers.bilinear_tensor_product(x, y, 3),
        layers.dropout(x, 0.3, is_test=True),
        layers.dropout(x, 0.3, is_test=True, dropout_implementation="upscale_in_train"),
        layers.add_position_encoding(layers.reshape(x, [0, 3, 2]), 0.7, 1.5),
        layers.continuous_value_model(layers.square(x), layers.square(x[:, 0:2])),
        layers.continuous_value_model(layers.square(x), layers.square(x[:, 0:2]), False),
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


@case("metrics")
def accuracy(x, label):
    likely = layers.softmax(x)
    return layers.accuracy(likely, label), layers.accuracy(likely, label, k=2)


@case("metrics")
def auc(x, label):
    likely = layers.softmax(x)
    whole, batch, _ = layers.auc(likely, label, num_thresholds=31)
    return whole, batch, layers.auc(likely, label, num_thresholds=31, slide_steps=2)[1]


@case("nets")
def of_images(image):
    return (
        nets.simple_img_conv_pool(image, 4, 3, 2, 2, act="relu"),
        nets.img_conv_group(image, [4, 3], 2, conv_act="relu", conv_with_batchnorm=True, pool_stride=2),
    )


@case("nets")
def of_queries(q, k, v):
    return (
        nets.glu(q),
        nets.scaled_dot_product_attention(q, k, v),
        nets.scaled_dot_product_attention(q, k, v, num_heads=2),
    )
