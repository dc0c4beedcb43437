"""Activations that have numbers or slopes of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator, Outputs, operator, out

_FUNCTIONS: dict[str, Callable[[Any, Attributes], Any]] = {
    "brelu": lambda x, a: jnp.clip(x, a["t_min"], a["t_max"]),
    "elu": lambda x, a: jnp.where(x > 0, x, a.get("alpha", 1.0) * jnp.expm1(jnp.minimum(x, 0))),
    "gelu": lambda x, a: jax.nn.gelu(x, approximate=a.get("approximate", False)),
    "hard_shrink": lambda x, a: jnp.where(jnp.abs(x) > a["threshold"], x, 0),
    "hard_sigmoid": lambda x, a: jnp.clip(a["slope"] * x + a["offset"], 0, 1),
    "hard_swish": lambda x, a: x * jnp.clip(x + a["offset"], 0, a["threshold"]) / a["scale"],
    "leaky_relu": lambda x, a: jnp.where(x >= 0, x, a["alpha"] * x),
    "selu": lambda x, a: a["scale"] * jnp.where(x > 0, x, a["alpha"] * jnp.expm1(jnp.minimum(x, 0))),
    "soft_relu": lambda x, a: jnp.log1p(jnp.exp(jnp.clip(x, -a["threshold"], a["threshold"]))),
    "softshrink": lambda x, a: jnp.sign(x) * jnp.maximum(jnp.abs(x) - a["lambda"], 0),
    "stanh": lambda x, a: a["scale_b"] * jnp.tanh(a["scale_a"] * x),
    "swish": lambda x, a: x * jax.nn.sigmoid(a.get("beta", 1.0) * x),
    "thresholded_relu": lambda x, a: jnp.where(x > a["threshold"], x, 0),
}


def _function(function: Callable[[Any, Attributes], Any]) -> Operator:
    return lambda inputs, attributes: out(function(inputs.one("X"), attributes))


TABLE.update({kind: _function(function) for kind, function in _FUNCTIONS.items()})


@operator("softplus")
def softplus(inputs: Inputs, attributes: Attributes) -> Outputs:
    """log(1 + exp(beta x)) / beta; x itself beyond the threshold."""
    x, beta = inputs.one("X"), attributes.get("beta", 1.0)
    return out(jnp.where(x * beta > attributes.get("threshold", 20.0), x, jax.nn.softplus(beta * x) / beta))


@operator("prelu")
def prelu(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Slopes below zero, of all elements, of a channel each, or of an element of a sample each."""
    x, slopes, mode = inputs.one("X"), inputs.one("Alpha"), attributes["mode"]
    shape = {"all": (1,) * x.ndim, "element": (1, *x.shape[1:])}.get(mode)
    if shape is None:
        channel = x.ndim - 1 if attributes.get("data_format", "NCHW") == "NHWC" else 1
        shape = tuple(extent if dim == channel else 1 for dim, extent in enumerate(x.shape))
    return out(jnp.where(x > 0, x, slopes.reshape(shape) * x))


@operator("maxout")
def maxout(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The largest of so many channels each."""
    x, groups = inputs.one("X"), attributes["groups"]
    axis = attributes.get("axis", 1) % x.ndim
    shape = (*x.shape[:axis], x.shape[axis] // groups, groups, *x.shape[axis + 1 :])
    return out(jnp.max(x.reshape(shape), axis + 1))
