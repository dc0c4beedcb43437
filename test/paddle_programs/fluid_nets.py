"""Small nets of epl.fluid as people train them: chapters of Paddle's book, ranking models of PaddleRec."""

import numpy as np

from epl.fluid import input as fluid_input
from epl.fluid import layers, nets, optimizer
from epl.fluid.clip import GradientClipByGlobalNorm, GradientClipByNorm, GradientClipByValue
from epl.fluid.initializer import MSRA, Normal, TruncatedNormal
from epl.fluid.param_attr import ParamAttr
from epl.fluid.regularizer import L1Decay, L2Decay

NETS = {}
"""By name: what makes the loss of what is fed, what makes the optimizer, and the shapes of what is fed."""

FIELDS, IDS, WIDTH = 4, 12, 3
CTR = {"ids": [8, FIELDS, ("int64", IDS)], "dense": [8, FIELDS], "label": [8, 1, ("int64", 2)]}


def net(make_optimizer, **feeds):
    def enter(function):
        NETS[function.__name__] = (function, make_optimizer, feeds)
        return function

    return enter


@net(
    lambda: optimizer.SGD(layers.exponential_decay(0.05, 2, 0.5, staircase=True)),
    x=[8, 13],
    y=[8, 1],
)
def fit_a_line(x, y):
    return layers.mean(layers.square_error_cost(layers.fc(x, 1), y))


@net(
    lambda: optimizer.Adam(0.01, grad_clip=GradientClipByGlobalNorm(0.5)),
    image=[4, 1, 12, 12],
    label=[4, 1, ("int64", 5)],
)
def recognize_digits(image, label):
    h = nets.simple_img_conv_pool(image, 4, 3, 2, 2, act="relu")
    h = layers.batch_norm(h)
    h = nets.simple_img_conv_pool(h, 6, 3, 2, 2, act="relu")
    likely = layers.fc(h, 5, act="softmax")
    layers.accuracy(likely, label)
    return layers.mean(layers.cross_entropy(likely, label))


@net(
    lambda: optimizer.Momentum(
        layers.piecewise_decay([1, 3], [0.1, 0.05, 0.01]), 0.9, regularization=L2Decay(0.01)
    ),
    image=[4, 3, 8, 8],
    label=[4, 1, ("int64", 5)],
)
def vgg(image, label):
    h = nets.img_conv_group(image, [4, 4], 2, conv_act="relu", conv_with_batchnorm=True, pool_stride=2)
    h = nets.img_conv_group(h, [6], 2, conv_act="relu", conv_with_batchnorm=[True], pool_stride=2)
    h = layers.fc(layers.batch_norm(layers.fc(h, 8), act="relu"), 8)
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(h, 5), label))


def conv_bn(x, filters, size, stride, act="relu"):
    attr = ParamAttr(initializer=MSRA())
    convolved = layers.conv2d(x, filters, size, stride, (size - 1) // 2, param_attr=attr, bias_attr=False)
    return layers.batch_norm(convolved, act=act)


@net(
    lambda: optimizer.LarsMomentum(layers.cosine_decay(0.5, 2, 3), 0.9, lars_weight_decay=0.01),
    image=[4, 3, 8, 8],
    label=[4, 1, ("int64", 5)],
)
def resnet(image, label):
    h = conv_bn(image, 4, 3, 1)
    for filters, stride in ((4, 1), (8, 2)):
        short = h if stride == 1 else conv_bn(h, filters, 1, stride, act=None)
        rest = conv_bn(conv_bn(h, filters, 3, stride), filters, 3, 1, act=None)
        h = layers.elementwise_add(short, rest, act="relu")
    h = layers.pool2d(h, pool_type="avg", global_pooling=True)
    likely = layers.fc(h, 5, act="softmax")
    return layers.mean(layers.cross_entropy(likely, label))


WORDS = {f"word{index}": [8, 1, ("int64", IDS)] for index in range(5)}


@net(lambda: optimizer.Adagrad(0.1, grad_clip=GradientClipByGlobalNorm(0.3)), **WORDS)
def ngram(*words):
    *before, last = words
    rows = [layers.embedding(word, [IDS, 4], is_sparse=True, param_attr="shared") for word in before]
    h = layers.fc(layers.concat(rows, axis=1), 8, act="sigmoid")
    return layers.mean(layers.cross_entropy(layers.fc(h, IDS, act="softmax"), last))


@net(
    lambda: optimizer.SGD(layers.inverse_time_decay(0.2, 2, 0.5)),
    user=[8, 1, ("int64", IDS)],
    age=[8, 1, ("int64", 5)],
    movie=[8, 1, ("int64", IDS)],
    score=[8, 1],
)
def recommender_system(user, age, movie, score):
    parts = [
        layers.fc(layers.embedding(each, [size, 6], is_sparse=True), 6)
        for each, size in ((user, IDS), (age, 5))
    ]
    usual = layers.fc(layers.concat(parts, axis=1), 8, act="tanh")
    other = layers.fc(layers.embedding(movie, [IDS, 6]), 8, act="tanh")
    likely = layers.scale(layers.cos_sim(usual, other), 5.0)
    return layers.mean(layers.square_error_cost(likely, score))


@net(lambda: optimizer.Adamax(0.05), words=[6, 8, ("int64", IDS)], label=[6, 1, ("int64", 2)])
def understand_sentiment(words, label):
    rows = layers.unsqueeze(fluid_input.embedding(words, [IDS, 5]), [1])
    parts = []
    for size in (3, 4):
        convolved = layers.conv2d(rows, 4, [size, 5], act="tanh")
        parts.append(layers.pool2d(convolved, pool_type="max", global_pooling=True))
    likely = layers.fc([layers.flatten(each) for each in parts], 2, act="softmax")
    return layers.mean(layers.cross_entropy(likely, label))


def click_loss(score, label):
    """What PaddleRec minimizes, with its metric."""
    likely = layers.sigmoid(score)
    both = layers.concat([1.0 - likely, likely], axis=1)
    layers.auc(both, label, num_thresholds=15, slide_steps=0)
    return layers.reduce_sum(layers.log_loss(likely, layers.cast(label, "float32")))


def weights(ids, dense, width, is_sparse=True, **attributes):
    """A row for each field, times what is given for it: [batch, fields, width]."""
    attr = ParamAttr(initializer=TruncatedNormal(0.0, 0.1), **attributes)
    rows = fluid_input.embedding(ids, [IDS, width], is_sparse=is_sparse, param_attr=attr)
    return rows * layers.unsqueeze(dense, [2])


def deep(x, sizes=(8, 6), act="relu"):
    h = layers.flatten(x)
    for size in sizes:
        h = layers.fc(h, size, act=act, param_attr=ParamAttr(initializer=Normal(0.0, 0.3)))
    return h


def pairs_of(rows):
    """Half the square of the sum less the sum of squares: [batch, width]."""
    together = layers.square(layers.reduce_sum(rows, 1))
    return 0.5 * (together - layers.reduce_sum(layers.square(rows), 1))


@net(lambda: optimizer.Ftrl(0.1, l1=0.01, l2=0.02), **CTR)
def lr(ids, dense, label):
    first = layers.reduce_sum(weights(ids, dense, 1, is_sparse=False), 1)
    return click_loss(first + layers.create_parameter([1], "float32", is_bias=True), label)


@net(lambda: optimizer.Ftrl(0.1), **CTR)
def fm(ids, dense, label):
    first = layers.reduce_sum(weights(ids, dense, 1), 1)
    second = layers.reduce_sum(pairs_of(weights(ids, dense, WIDTH)), 1, keep_dim=True)
    return click_loss(first + second, label)


@net(lambda: optimizer.Adam(0.05, lazy_mode=True), **CTR)
def deepfm(ids, dense, label):
    first = layers.reduce_sum(weights(ids, dense, 1, regularizer=L1Decay(0.01)), 1)
    rows = weights(ids, dense, WIDTH)
    second = layers.reduce_sum(pairs_of(rows), 1, keep_dim=True)
    return click_loss(first + second + layers.fc(deep(rows), 1), label)


@net(lambda: optimizer.Adagrad(0.1, regularization=L2Decay(0.01)), **CTR)
def wide_deep(ids, dense, label):
    rows = fluid_input.embedding(ids, [IDS, WIDTH])
    h = deep(layers.concat([layers.flatten(rows), dense], axis=1))
    return click_loss(layers.elementwise_add(layers.fc(dense, 1), layers.fc(h, 1)), label)


@net(lambda: optimizer.SGD(layers.natural_exp_decay(0.2, 2, 0.5), grad_clip=GradientClipByNorm(0.3)), **CTR)
def dcn(ids, dense, label):
    start = x = layers.concat([layers.flatten(weights(ids, dense, WIDTH)), dense], axis=1)
    for _ in range(2):
        size = [start.shape[1]]
        own = layers.create_parameter(size, "float32", default_initializer=Normal(0.0, 0.3))
        bias = layers.create_parameter(size, "float32", is_bias=True)
        x = start * layers.reduce_sum(x * own, dim=1, keep_dim=True) + bias + x
    return click_loss(layers.fc(layers.concat([deep(start), x], axis=1), 1), label)


@net(lambda: optimizer.RMSProp(0.02, momentum=0.5, centered=True), **CTR)
def xdeepfm(ids, dense, label):
    rows = weights(ids, dense, WIDTH)
    begin = layers.reshape(layers.transpose(rows, [0, 2, 1]), [-1, WIDTH, FIELDS, 1])
    last, count, found = rows, FIELDS, []
    for filters in (5, 4):
        others = layers.reshape(layers.transpose(last, [0, 2, 1]), [-1, WIDTH, 1, count])
        products = layers.reshape(layers.matmul(begin, others), [-1, WIDTH, count * FIELDS])
        products = layers.reshape(layers.transpose(products, [0, 2, 1]), [-1, count * FIELDS, 1, WIDTH])
        convolved = layers.conv2d(products, filters, [1, 1], act="relu", bias_attr=False)
        last, count = layers.reshape(convolved, [-1, filters, WIDTH]), filters
        found.append(last)
    cin = layers.fc(layers.reduce_sum(layers.concat(found, axis=1), -1), 1)
    return click_loss(cin + layers.fc(deep(rows), 1), label)


@net(
    lambda: optimizer.Momentum(0.05, 0.9, use_nesterov=True),
    past=[6, 5, ("int64", IDS)],
    item=[6, 1, ("int64", IDS)],
    length=[6, 1, ("int64", 6)],
    label=[6, 1, ("int64", 2)],
)
def din(past, item, length, label):
    table = {"size": [IDS, 4], "param_attr": "items"}
    rows, own = fluid_input.embedding(past, **table), fluid_input.embedding(item, **table)
    target = layers.expand(own, [1, 5, 1])
    both = layers.concat([rows, target, rows - target, rows * target], axis=2)
    h = layers.fc(both, 6, num_flatten_dims=2, act="sigmoid")
    scores = layers.transpose(layers.fc(h, 1, num_flatten_dims=2), [0, 2, 1])
    mask = layers.sequence_mask(layers.squeeze(length, [1]), 5, "float32")
    scores = scores + layers.unsqueeze((mask - 1.0) * 1e9, [1])
    pooled = layers.reshape(layers.matmul(layers.softmax(scores), rows), [-1, 4])
    h = layers.concat([layers.fc(pooled, 4), layers.squeeze(own, [1])], axis=1)
    score = layers.fc(layers.fc(h, 6, act="sigmoid"), 1)
    return layers.mean(layers.sigmoid_cross_entropy_with_logits(score, layers.cast(label, "float32")))


@net(
    lambda: optimizer.SGD(layers.linear_lr_warmup(0.2, 3, 0.0, 0.1), grad_clip=GradientClipByValue(0.1)),
    **CTR,
)
def dlrm(ids, dense, label):
    bottom = deep(dense, (8, WIDTH))
    rows = fluid_input.embedding(ids, [IDS, WIDTH])  # Paddle 2.6 cuts no sparse gradient
    every = layers.concat([layers.unsqueeze(bottom, [1]), rows], axis=1)
    count = FIELDS + 1
    products = layers.reshape(layers.matmul(every, every, transpose_y=True), [-1, count * count])
    below = layers.assign(np.flatnonzero(np.tri(count, k=-1)).astype("int32"))
    chosen = layers.transpose(layers.gather(layers.transpose(products, [1, 0]), below), [1, 0])
    return click_loss(layers.fc(deep(layers.concat([bottom, chosen], axis=1)), 1), label)


@net(lambda: optimizer.DecayedAdagrad(0.05), **CTR)
def nfm(ids, dense, label):
    first = layers.reduce_sum(weights(ids, dense, 1, is_sparse=False), 1)
    pooled = pairs_of(weights(ids, dense, WIDTH, is_sparse=False))
    return click_loss(first + layers.fc(deep(pooled), 1), label)


def pairs(rows):
    """Both rows of each pair of fields: [batch, pairs, width] twice."""
    fields = layers.unstack(rows, 1)
    places = [(i, j) for i in range(FIELDS) for j in range(i + 1, FIELDS)]
    return [layers.stack([fields[place[side]] for place in places], 1) for side in (0, 1)]


@net(lambda: optimizer.Adadelta(0.5, epsilon=1e-3), **CTR)
def afm(ids, dense, label):
    left, right = pairs(weights(ids, dense, WIDTH, is_sparse=False))
    products = left * right
    h = layers.fc(products, 4, num_flatten_dims=2, act="relu")
    shares = layers.softmax(layers.fc(h, 1, num_flatten_dims=2, bias_attr=False), axis=1)
    return click_loss(layers.fc(layers.reduce_sum(shares * products, 1), 1), label)


@net(lambda: optimizer.Lamb(0.02, 0.02), **CTR)
def pnn(ids, dense, label):
    rows = weights(ids, dense, WIDTH)
    left, right = pairs(rows)
    inner = layers.reduce_sum(left * right, -1)
    return click_loss(layers.fc(deep(layers.concat([layers.flatten(rows), inner], axis=1)), 1), label)


@net(lambda: optimizer.SGD(layers.noam_decay(8, 3)), **CTR)
def autoint(ids, dense, label):
    h = weights(ids, dense, 4)
    for _ in range(2):
        met = nets.scaled_dot_product_attention(h, h, h, num_heads=2)
        h = layers.relu(met + layers.fc(h, 4, num_flatten_dims=2, bias_attr=False))
        h = layers.layer_norm(h, begin_norm_axis=2)
    return click_loss(layers.fc(layers.flatten(h), 1), label)
