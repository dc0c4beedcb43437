"""Gradient ops.

The gradient op of an op has its inputs, some of its outputs, and the gradients of outputs by their names and
"@GRAD"; it gives those of inputs. It is the vjp of the op, but where Paddle gives it outputs alone, or where
what it makes of equal elements is not what JAX makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from epl.paddle.operators.losses import aligned, is_label
from epl.paddle.operators.reductions import dims_of
from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator, Outputs, operator

GRAD = "@GRAD"  # behind the name of a value
OF = "_grad"  # behind the kind of an op


def vjp(kind: str, inputs: Inputs, attributes: Attributes) -> Outputs:
    """The gradients of all inputs that are floating-point numbers."""
    given = {key.removesuffix(GRAD): values for key, values in inputs.items() if key.endswith(GRAD)}
    fixed = {key: values for key, values in inputs.items() if not key.endswith(GRAD)}
    floats = {key: values for key, values in fixed.items() if all(map(_is_float, values))}

    def forward(floats: dict[str, list[Any]]) -> dict[str, list[Any]]:
        made = TABLE[kind](inputs.with_values({**fixed, **floats}), attributes)
        return {key: list(made[key]) for key in given}

    made, pull = jax.vjp(forward, floats)
    (found,) = pull({key: list(map(_like, given[key], values)) for key, values in made.items()})
    return {f"{key}{GRAD}": values for key, values in found.items()}


def _like(gradient: Any, value: Any) -> Any:
    """Of a number Paddle has a tensor of one element, or of none."""
    return gradient.reshape(value.shape).astype(value.dtype)


def _is_float(value: Any) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.floating))


@operator("ceil_grad", "floor_grad", "round_grad")
def no_gradient(inputs: Inputs, _: Attributes) -> Outputs:
    """Zero: steps have no slope."""
    return {"X@GRAD": [0 * inputs.one("Out@GRAD")]}


def _transposed(kind: str, shape: Callable[[Any, Attributes], Any], output: str = "Out") -> Operator:
    """Of a linear op whose gradient op is given the gradient alone, which says the shape of its input."""

    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        given = inputs[f"{output}{GRAD}"]
        like = jnp.zeros(shape(given[0], attributes), given[0].dtype)
        values = {"X": [like], f"{output}{GRAD}": given}
        return vjp(kind, inputs.with_values(values), attributes)

    return compute


def _with_bias(kind: str, like: str, shape: Callable[[Any], Any]) -> Operator:
    """Of an op whose gradient op is not given the bias, whose gradient is asked for: zeros stand for it."""

    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        (other,) = inputs[like]
        bias = jnp.zeros(shape(other), other.dtype)
        return vjp(kind, inputs.with_values({**inputs, "Bias": [bias]}), attributes)

    return compute


TABLE["affine_channel_grad"] = _with_bias("affine_channel", "Scale", lambda scale: scale.shape)
TABLE["bilinear_tensor_product_grad"] = _with_bias(
    "bilinear_tensor_product", "Weight", lambda weights: (1, weights.shape[0])
)


def _same_shape(gradient: Any, _: Attributes) -> Any:
    return gradient.shape


def _without_padding(gradient: Any, attributes: Attributes) -> Any:
    pads = attributes["paddings"]
    return [extent - pads[2 * dim] - pads[2 * dim + 1] for dim, extent in enumerate(gradient.shape)]


def _of_small_pixels(gradient: Any, attributes: Attributes) -> Any:
    factor = attributes["upscale_factor"]
    batch, channels, height, width = gradient.shape
    return batch, channels * factor**2, height // factor, width // factor


TABLE["add_position_encoding_grad"] = _transposed("add_position_encoding", _same_shape)
TABLE["pad_grad"] = _transposed("pad", _without_padding)
TABLE["pixel_shuffle_grad"] = _transposed("pixel_shuffle", _of_small_pixels)
TABLE["shuffle_channel_grad"] = _transposed("shuffle_channel", _same_shape)


@operator("unstack_grad")
def unstack_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Along the dimension again."""
    return {"X@GRAD": [jnp.stack(inputs["Y@GRAD"], attributes["axis"])]}


@operator("scatter_grad")
def scatter_gradient(inputs: Inputs, _: Attributes) -> Outputs:
    """To rows that have stayed, and to those that have replaced others."""
    given, ids = inputs.one("Out@GRAD"), inputs.one("Ids").reshape(-1)
    return {"X@GRAD": [given.at[ids].set(0)], "Updates@GRAD": [jnp.take(given, ids, axis=0, mode="clip")]}


@operator("top_k_grad")
def top_k_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To where the largest elements are."""
    x, places, axis = inputs.one("X"), inputs.one("Indices"), attributes.get("axis", -1)
    _, pull = jax.vjp(lambda x: jnp.take_along_axis(x, places, axis), x)
    return {"X@GRAD": list(pull(inputs.one("Out@GRAD")))}


def _selu_slope(y: Any, attributes: Attributes) -> Any:
    scale = attributes["scale"]
    return jnp.where(y > 0, scale, y + scale * attributes["alpha"])


_FROM_RESULT: dict[str, Callable[[Any, Any, Attributes], Any]] = {
    "exp": lambda y, g, _: g * y,
    "hard_sigmoid": lambda y, g, attributes: jnp.where((y > 0) & (y < 1), g * attributes["slope"], 0),
    "log_softmax": lambda y, g, attributes: g - jnp.exp(y) * jnp.sum(g, attributes["axis"], keepdims=True),
    "reciprocal": lambda y, g, _: -g * y * y,
    "relu": lambda y, g, _: jnp.where(y > 0, g, 0),
    "relu6": lambda y, g, _: jnp.where((y > 0) & (y < 6), g, 0),
    "selu": lambda y, g, attributes: g * _selu_slope(y, attributes),
    "soft_relu": lambda y, g, attributes: jnp.where(y < attributes["threshold"], g * (1 - jnp.exp(-y)), 0),
    "rsqrt": lambda y, g, _: -0.5 * g * y * y * y,
    "sigmoid": lambda y, g, _: g * y * (1 - y),
    "softmax": lambda y, g, attributes: y * (g - jnp.sum(g * y, attributes["axis"], keepdims=True)),
    "sqrt": lambda y, g, _: 0.5 * g / y,
    "tanh": lambda y, g, _: g * (1 - y * y),
}


def _from_result(function: Callable[[Any, Any, Attributes], Any]) -> Operator:
    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        return {"X@GRAD": [function(inputs.one("Out"), inputs.one("Out@GRAD"), attributes)]}

    return compute


TABLE.update({f"{kind}{OF}": _from_result(function) for kind, function in _FROM_RESULT.items()})


def _of_shape(kind: str) -> Operator:
    """Of an op that has given its input, whose shape is asked for, as XShape."""

    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        given = {"X": inputs["XShape"], "Out@GRAD": inputs["Out@GRAD"]}
        return vjp(kind, inputs.with_values(given), attributes)

    return compute


_WITH_SHAPE = ("flatten2", "flatten_contiguous_range", "reshape2", "squeeze2", "transpose2", "unsqueeze2")
TABLE.update({f"{kind}{OF}": _of_shape(kind) for kind in _WITH_SHAPE})


@operator("reduce_max_grad", "reduce_min_grad")
def extreme_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To all elements that are the largest, whole."""
    x, found, given = (inputs.one(name) for name in ("X", "Out", "Out@GRAD"))
    kept = tuple(1 if dim in dims_of(x, attributes) else extent for dim, extent in enumerate(x.shape))
    return {"X@GRAD": [jnp.where(x == found.reshape(kept), given.reshape(kept), 0)]}


@operator("reduce_prod_grad")
def product_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The product of the others, as the whole by the element; Paddle, too, has none for zeros."""
    x, found, given = (inputs.one(name) for name in ("X", "Out", "Out@GRAD"))
    kept = tuple(1 if dim in dims_of(x, attributes) else extent for dim, extent in enumerate(x.shape))
    return {"X@GRAD": [(given * found).reshape(kept) / x]}


def _of_two(is_first: Callable[[Any, Any], Any], kind: str) -> Operator:
    """Of two values that are equal the second one has it."""

    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        x, y, given = (inputs.one(name) for name in ("X", "Y", "Out@GRAD"))
        if x.shape != y.shape:
            return vjp(kind, inputs, attributes)
        first = is_first(x, y)
        return {"X@GRAD": [jnp.where(first, given, 0)], "Y@GRAD": [jnp.where(first, 0, given)]}

    return compute


TABLE["elementwise_max_grad"] = _of_two(jnp.greater, "elementwise_max")
TABLE["elementwise_min_grad"] = _of_two(jnp.less, "elementwise_min")


def _of_rows(kind: str) -> Operator:
    """Of rows of a table; Paddle's sparse gradient has the row of `padding_idx`, too."""

    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        every = {**attributes, "padding_idx": -1} if attributes.get("is_sparse") else attributes
        return vjp(kind, inputs, every)

    return compute


TABLE.update({f"{kind}{OF}": _of_rows(kind) for kind in ("lookup_table", "lookup_table_v2")})


@operator("dropout_grad")
def dropout_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To what was kept, as it was scaled; in a test to all."""
    given, probability = inputs.one("Out@GRAD"), attributes["dropout_prob"]
    scales = attributes.get("dropout_implementation") == "upscale_in_train" and probability < 1
    if attributes.get("is_test"):
        return {"X@GRAD": [given if scales else given * (1 - probability)]}
    kept = given / (1 - probability) if scales else given
    return {"X@GRAD": [jnp.where(inputs.one("Mask") != 0, kept, 0)]}


@operator("huber_loss_grad")
def huber_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """From the differences, which the op gives."""
    delta = attributes["delta"]
    slope = jnp.clip(inputs.one("Residual"), -delta, delta) * inputs.one("Out@GRAD")
    return {"X@GRAD": [-slope], "Y@GRAD": [slope]}


@operator("softmax_with_cross_entropy_grad")
def cross_entropy_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """From the softmax, which the op gives; nothing where the label is to be ignored."""
    softmax, given, label = (inputs.one(name) for name in ("Softmax", "Loss@GRAD", "Label"))
    axis = attributes.get("axis", -1)
    if attributes.get("soft_label"):
        wanted, counts = label, True
    else:
        wanted = is_label(softmax, label, axis).astype(softmax.dtype)
        counts = aligned(softmax, label, axis) != attributes.get("ignore_index", -100)
    slope = softmax - wanted if attributes.get("use_softmax", True) else -wanted / softmax
    return {"Logits@GRAD": [jnp.where(counts, given * slope, 0)]}


@operator("cvm_grad")
def continuous_values_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To the counts it is the counts themselves, as Paddle's servers of parameters want it."""
    counts, given = inputs.one("CVM"), inputs.one("Y@GRAD")
    rest = given[:, 2:] if attributes.get("use_cvm", True) else given
    return {"X@GRAD": [jnp.concatenate([counts.astype(given.dtype), rest], 1)]}


@operator("data_norm_grad")
def data_norm_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To the sums it is what the batch adds to them, as Paddle's servers of parameters want it."""
    x, means = inputs.one("X"), inputs.one("Means")
    rows = inputs.extent("X", 0)
    squares = jnp.sum(jnp.square(x - means), 0) + rows * attributes["epsilon"]
    return {
        "X@GRAD": [inputs.one("Y@GRAD") * inputs.one("Scales")],
        "BatchSize@GRAD": [jnp.full(means.shape, rows, x.dtype)],
        "BatchSum@GRAD": [jnp.sum(x, 0)],
        "BatchSquareSum@GRAD": [squares],
    }


@operator("cross_entropy_grad2")
def cross_entropy2_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To the probability of the label, which the op gives."""
    (x,), (right,), (given,), (label,) = (inputs[name] for name in ("XShape", "MatchX", "Y@GRAD", "Label"))
    counts = is_label(x, label, -1) & (aligned(x, label, -1) != attributes.get("ignore_index", -100))
    return {"X@GRAD": [jnp.where(counts, -given / right, 0)]}


@operator("teacher_student_sigmoid_loss_grad")
def teacher_student_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """None where the score is beyond its bounds."""
    x, label = inputs.one("X"), inputs.one("Label")
    least, most = attributes["soft_max_lower_bound"], attributes["soft_max_up_bound"]
    wanted = jnp.where(label >= 0, label, jnp.where(label < -1, 0, 1))
    slope = jnp.where(label >= 0, 2, 1) * jax.nn.sigmoid(x) - wanted
    return {"X@GRAD": [jnp.where((x < most) & (x > least), slope * inputs.one("Y@GRAD"), 0)]}


@operator("batch_norm_grad", "sync_batch_norm_grad")
def batch_norm_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the statistics of the batch, computed again; with moving ones by those that the op has left."""
    left = {"Mean": "MeanOut", "Variance": "VarianceOut"}
    moving = {name: inputs.get(found) or inputs[f"Saved{name}"] for name, found in left.items()}
    return vjp("batch_norm", inputs.with_values({**inputs, **moving}), attributes)
