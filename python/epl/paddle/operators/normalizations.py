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


@operator("softmax")
def softmax(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Softmax along a dimension."""
    return out(jax.nn.softmax(inputs.one("X"), attributes.get("axis", -1)))


@operator("log_softmax")
def log_softmax(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The logarithm of softmax along a dimension."""
    return out(jax.nn.log_softmax(inputs.one("X"), attributes.get("axis", -1)))
