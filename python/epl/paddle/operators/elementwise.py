"""Ops element by element: arithmetic, functions, comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.paddle import dtypes
from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator, Outputs, operator, out

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": jnp.abs,
    "acos": jnp.arccos,
    "asin": jnp.arcsin,
    "atan": jnp.arctan,
    "ceil": jnp.ceil,
    "cos": jnp.cos,
    "erf": jax.lax.erf,
    "exp": jnp.exp,
    "floor": jnp.floor,
    "isfinite_v2": jnp.isfinite,
    "isinf_v2": jnp.isinf,
    "isnan_v2": jnp.isnan,
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


@operator("tanh_shrink")
def tanh_shrink(inputs: Inputs, _: Attributes) -> Outputs:
    """The value less its tanh."""
    return out(inputs.one("X") - jnp.tanh(inputs.one("X")))


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


@operator("assign", "get_tensor_from_selected_rows", "merge_selected_rows")
def assign(inputs: Inputs, _: Attributes) -> Outputs:
    """The value itself; gradients of tables are dense here, their rows are not to be put together."""
    return out(inputs.one("X"))


@operator("increment")
def increment(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Plus a number, in the dtype of the value."""
    x = inputs.one("X")
    return out(x + jnp.asarray(attributes["step"], x.dtype))


@operator("cast")
def cast(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Another dtype."""
    return out(inputs.one("X").astype(dtypes.computed(attributes["out_dtype"])))


@operator("cvm")
def continuous_values(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The first two columns, which count shows and clicks, as logarithms; or the others alone."""
    x = inputs.one("X")
    if not attributes.get("use_cvm", True):
        return {"Y": [x[:, 2:]]}
    shows, clicks = jnp.log(x[:, :1] + 1), jnp.log(x[:, 1:2] + 1)
    return {"Y": [jnp.concatenate([shows, clicks - shows, x[:, 2:]], 1)]}


@operator("add_position_encoding")
def add_places(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Plus sines of the places in the first half of a row, and cosines in the second, of growing periods."""
    x = inputs.one("X")
    half = x.shape[2] // 2
    periods = np.power(10000.0, np.arange(half) / max(half - 1, 1)) if half > 1 else np.full(1, 10000.0)
    angles = np.arange(x.shape[1])[:, None] / periods
    waves = np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(x.dtype)
    return out(attributes["alpha"] * x + attributes["beta"] * waves)


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
