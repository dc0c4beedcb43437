"""Normalizations, softmax."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


@operator("batch_norm", "sync_batch_norm")
def batch_norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the statistics of the batch, of which moving averages are kept; or by these averages."""
    x, mean, variance = (inputs.one(name) for name in ("X", "Mean", "Variance"))
    channel = 1 if attributes.get("data_layout", "NCHW") == "NCHW" else x.ndim - 1
    others = tuple(dim for dim in range(x.ndim) if dim != channel)
    moving = mean, variance
    if not (attributes.get("is_test") or attributes.get("use_global_stats")):
        count = inputs.across(inputs.extent("X", *others))
        mean = inputs.across(jnp.sum(x, others)) / count
        variance = inputs.across(jnp.sum(jnp.square(x - _along(mean, x, channel)), others)) / count
        momentum = attributes["momentum"]
        pairs = zip(moving, (mean, variance), strict=True)
        moving = tuple(lax.stop_gradient(momentum * old + (1 - momentum) * new) for old, new in pairs)
    inverse = lax.rsqrt(variance + attributes["epsilon"])
    normal = (x - _along(mean, x, channel)) * _along(inverse, x, channel)
    found = normal * _along(inputs.one("Scale"), x, channel) + _along(inputs.one("Bias"), x, channel)
    return {
        "Y": [found],
        "MeanOut": [moving[0]],
        "VarianceOut": [moving[1]],
        "SavedMean": [mean],
        "SavedVariance": [inverse],
        "ReserveSpace": [jnp.zeros(0, x.dtype)],
    }


def _along(vector: Any, x: Any, dim: int) -> Any:
    return vector.reshape([-1 if each == dim else 1 for each in range(x.ndim)])


@operator("layer_norm")
def layer_norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the statistics of each sample, over the dimensions from one on."""
    x, begin = inputs.one("X"), attributes["begin_norm_axis"]
    dims = tuple(range(begin, x.ndim))
    mean = jnp.mean(x, dims, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), dims, keepdims=True)
    found = (x - mean) * lax.rsqrt(variance + attributes["epsilon"])
    scale, bias = inputs.maybe("Scale"), inputs.maybe("Bias")
    found = found if scale is None else found * scale.reshape(x.shape[begin:])
    found = found if bias is None else found + bias.reshape(x.shape[begin:])
    rows = math.prod(x.shape[:begin])
    return {"Y": [found], "Mean": [mean.reshape(rows)], "Variance": [variance.reshape(rows)]}


@operator("group_norm")
def group_norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the statistics of groups of channels of each sample.

    The gradient is that of the function; Paddle 2.6.2's on a CPU lacks a term, the mean of the gradient.
    """
    x, groups = inputs.one("X"), attributes["groups"]
    channel = 1 if attributes.get("data_layout", "NCHW") == "NCHW" else x.ndim - 1
    parts = jnp.moveaxis(x, channel, 1).reshape(x.shape[0], groups, -1)
    mean = jnp.mean(parts, -1, keepdims=True)
    variance = jnp.mean(jnp.square(parts - mean), -1, keepdims=True)
    normal = (parts - mean) * lax.rsqrt(variance + attributes["epsilon"])
    found = _scaled(
        inputs, jnp.moveaxis(normal.reshape(jnp.moveaxis(x, channel, 1).shape), 1, channel), channel
    )
    return {"Y": [found], "Mean": [mean[..., 0]], "Variance": [variance[..., 0]]}


def _scaled(inputs: Inputs, normal: Any, channel: int) -> Any:
    """Times a scale of each channel, plus a bias, of those that the op has."""
    scale, bias = inputs.maybe("Scale"), inputs.maybe("Bias")
    found = normal if scale is None else normal * _along(scale, normal, channel)
    return found if bias is None else found + _along(bias, normal, channel)


@operator("instance_norm")
def instance_norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the statistics of each channel of each sample."""
    x = inputs.one("X")
    dims = tuple(range(2, x.ndim))
    mean = jnp.mean(x, dims, keepdims=True)
    inverse = lax.rsqrt(jnp.mean(jnp.square(x - mean), dims, keepdims=True) + attributes["epsilon"])
    found = _scaled(inputs, (x - mean) * inverse, 1)
    return {"Y": [found], "SavedMean": [mean.reshape(-1)], "SavedVariance": [inverse.reshape(-1)]}


@operator("data_norm")
def data_norm(inputs: Inputs, _: Attributes) -> Outputs:
    """By statistics that are kept as sums, which the optimizer is to update."""
    count, total, squares = (inputs.one(name) for name in ("BatchSize", "BatchSum", "BatchSquareSum"))
    means, scales = total / count, jnp.sqrt(count / squares)
    return {"Y": [(inputs.one("X") - means) * scales], "Means": [means], "Scales": [scales]}


@operator("lrn")
def lrn(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the squares of channels nearby, of which there are `n`."""
    x, count = inputs.one("X"), attributes["n"]
    channel = 1 if attributes.get("data_format", "NCHW") != "NHWC" else x.ndim - 1
    window, around = [1] * x.ndim, [(0, 0)] * x.ndim
    window[channel], around[channel] = count, ((count - 1) // 2, count - 1 - (count - 1) // 2)
    squares = lax.reduce_window(x * x, 0.0, lax.add, window, [1] * x.ndim, around)
    middle = attributes["k"] + attributes["alpha"] * squares
    return {"Out": [x * jnp.power(middle, -attributes["beta"])], "MidOut": [middle]}


@operator("affine_channel")
def affine_channel(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Each channel times a number, plus one."""
    x = inputs.one("X")
    channel = 1 if attributes.get("data_layout", "NCHW") != "NHWC" else x.ndim - 1
    return out(_scaled(inputs, x, channel))


@operator("softmax")
def softmax(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Softmax along a dimension."""
    return out(jax.nn.softmax(inputs.one("X"), attributes.get("axis", -1)))


@operator("log_softmax")
def log_softmax(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The logarithm of softmax along a dimension."""
    return out(jax.nn.log_softmax(inputs.one("X"), attributes.get("axis", -1)))
