"""Layers of epl.fluid with parameters, of images, losses and metrics, as `fluid_cases.py` has the others."""

import numpy as np

from epl.fluid import input as fluid_input
from epl.fluid import layers, nets
from epl.fluid.initializer import Bilinear, Normal, NumpyArrayInitializer, Uniform, Xavier
from epl.fluid.param_attr import ParamAttr, WeightNormParamAttr

FEEDS = {
    "images": {"image": [2, 4, 6, 6]},
    "groups": {"image": [2, 4, 3, 3]},
    "losses": {"x": [6, 5], "y": [6, 5], "label": [6, 1, ("int64", 5)], "click": [6, 1, ("int64", 2)]},
    "parameters": {"x": [4, 6], "y": [4, 5], "ids": [4, 1, ("int64", 9)], "words": [4, 3, ("int64", 9)]},
    "metrics": {"x": [6, 2], "label": [6, 1, ("int64", 2)]},
    "nets": {"image": [2, 3, 8, 8], "q": [2, 4, 6], "k": [2, 5, 6], "v": [2, 5, 8]},
}

CASES = {family: {} for family in FEEDS}

UNTRAINED = ("groups", "metrics")
"""Families without gradients, or with others than Paddle's: groups' are wrong in 2.6.2."""


def case(family):
    def enter(function):
        CASES[family][function.__name__] = function
        return function

    return enter


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
def weight_norm(y):
    return layers.fc(y, 3, param_attr=WeightNormParamAttr(name="direction"))


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
