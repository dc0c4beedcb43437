"""Ops element by element: arithmetic, functions, comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from epl.paddle import dtypes
from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator, Outputs, operator, out

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": jnp.abs,
    "ceil": jnp.ceil,
    "cos": jnp.cos,
    "erf": jax.lax.erf,
    "exp": jnp.exp,
    "floor": jnp.floor,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "logical_not": jnp.logical_not,
    "logsigmoid": jax.nn.log_sigmoid,
    "reciprocal": jnp.reciprocal,
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "round": jnp.round,
    "rsqrt": jax.lax.rsqrt,
    "sigmoid": jax.nn.sigmoid,
    "sign": jnp.sign,
    "silu": jax.nn.silu,
    "sin": jnp.sin,
    "softsign": jax.nn.soft_sign,
    "sqrt": jnp.sqrt,
    "square": jnp.square,
    "tanh": jnp.tanh,
}

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise_add": jnp.add,
    "elementwise_div": jnp.divide,
    "elementwise_floordiv": jnp.floor_divide,
    "elementwise_max": jnp.maximum,
    "elementwise_min": jnp.minimum,
    "elementwise_mod": jnp.mod,
    "elementwise_mul": jnp.multiply,
    "elementwise_pow": jnp.power,
    "elementwise_sub": jnp.subtract,
    "equal": jnp.equal,
    "greater_equal": jnp.greater_equal,
    "greater_than": jnp.greater,
    "less_equal": jnp.less_equal,
    "less_than": jnp.less,
    "logical_and": jnp.logical_and,
    "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor,
    "not_equal": jnp.not_equal,
}


def _function(function: Callable[[Any], Any]) -> Operator:
    return lambda inputs, _: out(function(inputs.one("X")))


def _binary(function: Callable[[Any, Any], Any]) -> Operator:
    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        return out(function(*_aligned(inputs.one("X"), inputs.one("Y"), attributes.get("axis", -1))))

    return compute


def _aligned(x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """`y` with dimensions of one element, so that its first one is dimension `axis` of `x`; -1: the last."""
    if axis == -1 or y.ndim >= x.ndim:
        return x, y
    return x, y.reshape((1,) * axis + y.shape + (1,) * (x.ndim - axis - y.ndim))


TABLE.update({kind: _function(function) for kind, function in _FUNCTIONS.items()})
TABLE.update({kind: _binary(function) for kind, function in _BINARY.items()})


@operator("scale")
def scale(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Times a number, which may be a tensor, and plus one, before or behind that."""
    x = inputs.one("X")
    factor = inputs.maybe("ScaleTensor")
    factor = attributes["scale"] if factor is None else factor.reshape(())
    bias = attributes.get("bias", 0.0)
    found = x * factor + bias if attributes.get("bias_after_scale", True) else (x + bias) * factor
    return out(found.astype(x.dtype))


@operator("sum")
def add_all(inputs: Inputs, _: Attributes) -> Outputs:
    """The sum of tensors of one shape, in their order."""
    first, *others = inputs["X"]
    for other in others:
        first = first + other
    return out(first)


@operator("assign")
def assign(inputs: Inputs, _: Attributes) -> Outputs:
    """The value itself."""
    return out(inputs.one("X"))


@operator("cast")
def cast(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Another dtype."""
    return out(inputs.one("X").astype(dtypes.computed(attributes["out_dtype"])))


@operator("clip")
def clip(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Between two numbers, which may be tensors."""
    least, most = inputs.maybe("Min"), inputs.maybe("Max")
    least = attributes["min"] if least is None else least.reshape(())
    most = attributes["max"] if most is None else most.reshape(())
    return out(jnp.clip(inputs.one("X"), least, most))


@operator("pow")
def power(inputs: Inputs, attributes: Attributes) -> Outputs:
    """To a power that is a number, or a tensor of one."""
    x, exponent = inputs.one("X"), inputs.maybe("FactorTensor")
    exponent = attributes["factor"] if exponent is None else exponent.reshape(())
    return out(jnp.power(x, jnp.asarray(exponent, x.dtype)))


@operator("gelu")
def gelu(inputs: Inputs, attributes: Attributes) -> Outputs:
    """GELU, by tanh if it is approximate."""
    return out(jax.nn.gelu(inputs.one("X"), approximate=attributes.get("approximate", False)))


@operator("leaky_relu")
def leaky_relu(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The larger of the value and `alpha` times it."""
    x = inputs.one("X")
    return out(jnp.where(x >= 0, x, attributes["alpha"] * x))


@operator("hard_sigmoid")
def hard_sigmoid(inputs: Inputs, attributes: Attributes) -> Outputs:
    """A line, cut at 0 and 1."""
    return out(jnp.clip(attributes["slope"] * inputs.one("X") + attributes["offset"], 0, 1))


@operator("hard_swish")
def hard_swish(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The value times a line that is cut."""
    x, most = inputs.one("X"), attributes["threshold"]
    return out(x * jnp.clip(x + attributes["offset"], 0, most) / attributes["scale"])


@operator("swish")
def swish(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The value times the sigmoid of `beta` times it."""
    x = inputs.one("X")
    return out(x * jax.nn.sigmoid(attributes.get("beta", 1.0) * x))


@operator("softplus")
def softplus(inputs: Inputs, attributes: Attributes) -> Outputs:
    """log(1 + exp(beta x)) / beta; x itself beyond the threshold."""
    x, beta = inputs.one("X"), attributes.get("beta", 1.0)
    return out(jnp.where(x * beta > attributes.get("threshold", 20.0), x, jax.nn.softplus(beta * x) / beta))
