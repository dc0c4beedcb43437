"""Arguments of epl.fluid: those of Fluid, and what is said of wrong ones."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("paddle")

import epl
import epl.paddle
from epl.fluid import backward, clip, installed, layers, nets, optimizer
from epl.fluid import input as fluid_input
from epl.fluid.param_attr import WeightNormParamAttr
from fluid_programs import Built, building, paddle

# Paddle says so of each operator whose second operand has a batch.
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*has been unified with:DeprecationWarning")


@pytest.fixture
def built() -> Iterator[Built]:
    with building() as found:
        yield found


FLUID = """
accuracy(input, label, k=1, correct=None, total=None)
adaptive_pool2d(input, pool_size, pool_type='max', require_index=False, name=None)
argsort(input, axis=-1, descending=False, name=None)
batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, \
data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None, \
do_model_average_for_mean_and_var=True, use_global_stats=False)
brelu(x, t_min=0.0, t_max=24.0, name=None)
clip(x, min, max, name=None)
clip_by_norm(x, max_norm, name=None)
concat(input, axis=0, name=None)
conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, \
bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')
conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, \
groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')
cos_sim(X, Y)
create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None)
create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None)
cross_entropy(input, label, soft_label=False, ignore_index=-100)
data(name, shape, append_batch_size=True, dtype='float32', lod_level=0, type=None, stop_gradient=True)
dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation='downgrade_in_infer')
elementwise_add(x, y, axis=-1, act=None, name=None)
embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, \
dtype='float32')
expand(x, expand_times, name=None)
fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None)
fill_constant(shape, dtype, value, force_cpu=False, out=None, name=None)
flatten(x, axis=1, name=None)
gather(input, index, overwrite=True)
hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None)
image_resize(input, out_shape=None, scale=None, name=None, resample='BILINEAR', actual_shape=None, \
align_corners=True, align_mode=1, data_format='NCHW')
increment(x, value=1.0, in_place=True)
l2_normalize(x, axis, epsilon=1e-12, name=None)
label_smooth(label, prior_dist=None, epsilon=0.1, dtype='float32', name=None)
layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None, \
act=None, name=None)
leaky_relu(x, alpha=0.02, name=None)
less_than(x, y, force_cpu=None, cond=None)
linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr)
log_loss(input, label, epsilon=0.0001, name=None)
lrn(input, n=5, k=1.0, alpha=0.0001, beta=0.75, name=None, data_format='NCHW')
matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None)
mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None)
one_hot(input, depth, allow_out_of_range=False)
pad2d(input, paddings=(0, 0, 0, 0), mode='constant', pad_value=0.0, data_format='NCHW', name=None)
piecewise_decay(boundaries, values)
polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False)
pool2d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, \
use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format='NCHW')
prelu(x, mode, param_attr=None, name=None)
reduce_sum(input, dim=None, keep_dim=False, name=None)
reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None)
scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)
scatter(input, index, updates, name=None, overwrite=True)
sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False)
slice(input, axes, starts, ends)
smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None)
softmax(input, use_cudnn=False, name=None, axis=-1)
softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, \
return_softmax=False, axis=-1)
split(input, num_or_sections, dim=-1, name=None)
squeeze(input, axes, name=None)
stack(x, axis=0)
topk(input, k, name=None)
transpose(x, perm, name=None)
uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0, name=None)
"""


@pytest.mark.parametrize("line", FLUID.strip().splitlines())
def test_arguments_are_those_of_fluid(line: str) -> None:
    """Names, order and defaults, as Paddle's documents of 1.8 have them."""
    name = line.partition("(")[0]
    signature = inspect.signature(getattr(layers, name))
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    found = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    assert f"{name}{found}" == line


def test_layers_of_lod_are_not_there() -> None:
    with pytest.raises(
        AttributeError,
        match=r'has no layer "nce"; those of sequences of varying lengths \(LoD\) and of control',
    ):
        _ = layers.nce
    with pytest.raises(AttributeError, match='has no layer "softmx", did you mean "softmax"'):
        _ = layers.softmx
    assert not hasattr(layers, "dynamic_lstm")
    with pytest.raises(AttributeError, match=r'nets has no net "sequence_conv_pool".*; those of sequences'):
        _ = nets.sequence_conv_pool
    assert {"fc", "relu", "sum", "range", "piecewise_decay"} <= set(dir(layers))


def test_what_is_fed(built: Built) -> None:
    assert layers.data("a", [3, 4]).shape == (-1, 3, 4)
    assert layers.data("b", [3, 4], append_batch_size=False).shape == (3, 4)
    assert layers.data("c", [None, 4], dtype="int64").shape == (-1, 4)
    assert layers.data("d", [-1, 4]).shape == (-1, 4)
    assert layers.data("e", []).shape == (-1,)
    assert fluid_input.data("f", [None, 4]).shape == (-1, 4)
    assert layers.data("g", [1]).stop_gradient
    assert not layers.data("h", [1], stop_gradient=False).stop_gradient


def x() -> Any:
    return layers.data(paddle.utils.unique_name.generate("x"), [4])


def image() -> Any:
    return layers.data(paddle.utils.unique_name.generate("image"), [3, 8, 8])


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "lod": (
        lambda: layers.data("x", [1], lod_level=1),
        r'test_fluid_arguments.py:\d+: layers.data: "x" has lod_l',
    ),
    "fluid_lod": (lambda: fluid_input.data("x", [1], lod_level=1), 'fluid.data: "x" has lod_level 1'),
    "shape": (lambda: layers.data("x", 3), "layers.data: expected a list of integers as shape, found 3"),
    "no_variable": (lambda: layers.relu(3), "layers.relu: expected a Variable for X, found int"),
    "fc": (lambda: layers.fc(3, 2), "layers.fc: expected a Variable as input, found int"),
    "flatten": (lambda: layers.fc(x(), 2, 2), r"fc: num_flatten_dims 2 of an input of shape \[-1, 4\]"),
    "unknown": (
        lambda: layers.fc(layers.data("x", [-1, -1]), 2),
        r"layers.fc: a parameter would have the shape",
    ),
    "argument": (
        lambda: layers.leaky_relu(x(), beta=1),
        r"layers.leaky_relu\(x, alpha=0.02, name=None\): got an",
    ),
    "too_few": (
        lambda: layers.elementwise_add(x()),
        r"layers.elementwise_add\(x, y, axis=-1.*missing a required",
    ),
    "none": (lambda: layers.sums([]), "layers.sum: expected Variables for X, found none"),
    "of_paddle": (
        lambda: layers.elementwise_add(x(), layers.data("y", [3])),
        r"layers.elementwise_add: \(InvalidArgument\) Broadcast dimension mismatch.*shape of X = \[-1, 4\]",
    ),
    "pool_type": (
        lambda: layers.pool2d(image(), 2, "min"),
        r"pool2d: expected a pool_type of \('max', 'avg'\), f",
    ),
    "pool_size": (
        lambda: layers.pool2d(image()),
        "pool2d: expected a pool_size, or global_pooling, found neith",
    ),
    "padding": (
        lambda: layers.pool2d(image(), 2, pool_padding="ALL"),
        'expected "SAME", "VALID" or numbers, fo',
    ),
    "numbers": (
        lambda: layers.pool2d(image(), [2, 2, 2]),
        r"expected 2 numbers as pool_size, found \[2, 2, 2\]",
    ),
    "integers": (
        lambda: layers.reshape(x(), [-1, 2.5]),
        r"layers.reshape: expected integers as shape, found",
    ),
    "shape_variable": (
        lambda: layers.reshape(x(), [layers.rank(x()), -1]),
        "reshape: a Variable as shape is not",
    ),
    "split": (lambda: layers.split(x(), 3), "layers.split: dimension 1 of extent 4 in 3 equal parts"),
    "expand_as": (
        lambda: layers.expand_as(x(), layers.data("y", [6])),
        "a target whose shape has multiples of",
    ),
    "dropout": (
        lambda: layers.dropout(x(), 0.1, dropout_implementation="x"),
        "expected a dropout_implementatio",
    ),
    "prelu": (lambda: layers.prelu(image(), "some"), "layers.prelu: expected a mode of"),
    "resample": (lambda: layers.image_resize(image(), [2, 2], resample="CUBIC"), "expected a resample of"),
    "resize": (lambda: layers.image_resize(image()), "image_resize: expected either out_shape or scale"),
    "curve": (lambda: layers.auc(x(), x(), curve="PR"), "layers.auc: the curve 'PR' is not supported"),
    "mask": (
        lambda: layers.sequence_mask(x()),
        "sequence_mask: a maxlen that is not a number is not supported",
    ),
    "decay": (lambda: layers.piecewise_decay([1], [0.1]), "one value more than the 1 boundaries, found 1"),
    "group": (
        lambda: nets.img_conv_group(image(), [2, 2], 2, [1]),
        "expected 2 values as conv_padding, found 1",
    ),
    "heads": (
        lambda: nets.scaled_dot_product_attention(*[layers.data("q", [3, 4])] * 3, num_heads=3),
        r"expected queries of \[batch, length, width\], of a width that 3 divides, found \[-1, 3, 4\]",
    ),
    "loss": (
        lambda: optimizer.SGD(0.1).minimize(x()),
        r'expected a loss of one element, found "x.*layers.mean',
    ),
    "no_loss": (lambda: backward.append_backward(0.5), "expected a Variable as loss, found float"),
    "rate": (lambda: optimizer.SGD("0.1"), "expected a number or a Variable as learning_rate, found '0.1'"),
    "clip": (
        lambda: clip.set_gradient_clip(1.0),
        "expected a fluid.clip.GradientClip... as clip, found float",
    ),
    "weight_norm": (
        lambda: WeightNormParamAttr(0),
        "WeightNormParamAttr: expected dim None, found 0: Paddle",
    ),
    "need_clip": (
        lambda: clip.GradientClipByNorm(1.0, ["w"]),
        "expected a function as need_clip, found list",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_says_what_is_wrong(built: Built, case: str) -> None:
    call, text = WRONG[case]
    with pytest.raises((epl.ArgumentError, epl.UnsupportedError), match=text):
        call()


def test_says_which_paddle_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    load = installed.load.__wrapped__
    monkeypatch.setitem(sys.modules, "paddle", None)
    with pytest.raises(epl.Error, match=r"with Paddle 2.6: pip install paddlepaddle==2.6.2; found no Paddle"):
        load()
    other = types.ModuleType("paddle")
    other.__version__ = "3.0.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "paddle", other)
    with pytest.raises(epl.Error, match=r"paddlepaddle==2.6.2; found version 3.0.0"):
        load()
