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


_FROM_RESULT: dict[str, Callable[[Any, Any, Attributes], Any]] = {
    "exp": lambda y, g, _: g * y,
    "hard_sigmoid": lambda y, g, attributes: jnp.where((y > 0) & (y < 1), g * attributes["slope"], 0),
    "log_softmax": lambda y, g, attributes: g - jnp.exp(y) * jnp.sum(g, attributes["axis"], keepdims=True),
    "reciprocal": lambda y, g, _: -g * y * y,
    "relu": lambda y, g, _: jnp.where(y > 0, g, 0),
    "relu6": lambda y, g, _: jnp.where((y > 0) & (y < 6), g, 0),
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


@operator("dropout_grad")
def dropout_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To what was kept, as it was scaled."""
    given, probability = inputs.one("Out@GRAD"), attributes["dropout_prob"]
    scales = attributes.get("dropout_implementation") == "upscale_in_train" and probability < 1
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


@operator("batch_norm_grad", "sync_batch_norm_grad")
def batch_norm_gradient(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the statistics of the batch, computed again; with moving ones by those that the op has left."""
    left = {"Mean": "MeanOut", "Variance": "VarianceOut"}
    moving = {name: inputs.get(found) or inputs[f"Saved{name}"] for name, found in left.items()}
    return vjp("batch_norm", inputs.with_values({**inputs, **moving}), attributes)
