"""Activations that have numbers or slopes of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from epl.paddle.operators.table import TABLE, Attributes, Inputs, Outputs, operator, out

Activation = Callable[[Any, Attributes], Any]


def _activation(function: Activation) -> Activation:
    """Enters a function of a value and the attributes into the table, by its name."""

    @functools.wraps(function)
    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        return out(function(inputs.one("X"), attributes))

    TABLE[function.__name__] = compute
    return function


@_activation
def brelu(x: Any, attributes: Attributes) -> Any:
    """Between two numbers."""
    return jnp.clip(x, attributes["t_min"], attributes["t_max"])


@_activation
def elu(x: Any, attributes: Attributes) -> Any:
    """The value; below zero `alpha` times its exponential less one."""
    return jnp.where(x > 0, x, attributes.get("alpha", 1.0) * jnp.expm1(jnp.minimum(x, 0)))


@_activation
def gelu(x: Any, attributes: Attributes) -> Any:
    """GELU, by tanh if it is approximate."""
    return jax.nn.gelu(x, approximate=attributes.get("approximate", False))


@_activation
def hard_shrink(x: Any, attributes: Attributes) -> Any:
    """The value, zero within a threshold of zero."""
    return jnp.where(jnp.abs(x) > attributes["threshold"], x, 0)


@_activation
def hard_sigmoid(x: Any, attributes: Attributes) -> Any:
    """A line, cut at 0 and 1."""
    return jnp.clip(attributes["slope"] * x + attributes["offset"], 0, 1)


@_activation
def hard_swish(x: Any, attributes: Attributes) -> Any:
    """The value times a line that is cut."""
    return x * jnp.clip(x + attributes["offset"], 0, attributes["threshold"]) / attributes["scale"]


@_activation
def leaky_relu(x: Any, attributes: Attributes) -> Any:
    """The larger of the value and `alpha` times it."""
    return jnp.where(x >= 0, x, attributes["alpha"] * x)


@_activation
def selu(x: Any, attributes: Attributes) -> Any:
    """`elu`, scaled."""
    return attributes["scale"] * elu(x, attributes)


@_activation
def soft_relu(x: Any, attributes: Attributes) -> Any:
    """log(1 + exp(x)), of what is cut at a threshold."""
    return jnp.log1p(jnp.exp(jnp.clip(x, -attributes["threshold"], attributes["threshold"])))


@_activation
def softshrink(x: Any, attributes: Attributes) -> Any:
    """The value, nearer to zero by a number."""
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - attributes["lambda"], 0)


@_activation
def stanh(x: Any, attributes: Attributes) -> Any:
    """tanh, of both scaled."""
    return attributes["scale_b"] * jnp.tanh(attributes["scale_a"] * x)


@_activation
def swish(x: Any, attributes: Attributes) -> Any:
    """The value times the sigmoid of `beta` times it."""
    return x * jax.nn.sigmoid(attributes.get("beta", 1.0) * x)


@_activation
def thresholded_relu(x: Any, attributes: Attributes) -> Any:
    """The value, zero up to a threshold."""
    return jnp.where(x > attributes["threshold"], x, 0)


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
