"""Sums, means, largest and smallest values over dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator, Outputs, operator, out

_KINDS: dict[str, Callable[..., Any]] = {
    "reduce_all": jnp.all,
    "reduce_any": jnp.any,
    "reduce_max": jnp.max,
    "reduce_min": jnp.min,
    "reduce_prod": jnp.prod,
    "reduce_sum": jnp.sum,
}


def dims_of(x: Any, attributes: Attributes) -> tuple[int, ...]:
    """The dimensions that are reduced."""
    dims = attributes.get("dim", (0,))
    if attributes.get("reduce_all") or not dims:
        return tuple(range(x.ndim))
    return tuple(dim % x.ndim for dim in dims)


def _reduction(reduce: Callable[..., Any]) -> Operator:
    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        x = inputs.one("X")
        found = reduce(x, axis=dims_of(x, attributes), keepdims=attributes.get("keep_dim", False))
        return out(found.astype(x.dtype) if reduce in (jnp.sum, jnp.prod) else found)

    return compute


TABLE.update({kind: _reduction(reduce) for kind, reduce in _KINDS.items()})


def mean_over(inputs: Inputs, name: str, dims: tuple[int, ...], keeps: bool = False) -> Any:
    """The mean over dimensions, of what is real; of 16 bits as a sum of 32."""
    x = inputs.one(name)
    total = jnp.sum(x, dims, dtype=jnp.promote_types(x.dtype, jnp.float32), keepdims=keeps)
    return (total / inputs.extent(name, *dims)).astype(x.dtype)


@operator("reduce_mean")
def reduce_mean(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The mean over dimensions."""
    dims = dims_of(inputs.one("X"), attributes)
    return out(mean_over(inputs, "X", dims, attributes.get("keep_dim", False)))


@operator("mean")
def mean(inputs: Inputs, _: Attributes) -> Outputs:
    """The mean of all elements."""
    return out(mean_over(inputs, "X", tuple(range(inputs.one("X").ndim))))


@operator("logsumexp")
def logsumexp(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The logarithm of a sum of exponentials."""
    x = inputs.one("X")
    dims = tuple(range(x.ndim)) if attributes.get("reduce_all") else tuple(attributes["axis"])
    return out(jax.nn.logsumexp(x, axis=dims, keepdims=attributes.get("keepdim", False)))


@operator("p_norm")
def p_norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """A norm along a dimension, or of all elements."""
    x, order, keeps = inputs.one("X"), attributes["porder"], attributes.get("keepdim", False)
    if attributes.get("asvector"):
        return out(jnp.linalg.norm(x.reshape(-1), order))
    return out(jnp.linalg.norm(x, order, axis=attributes["axis"], keepdims=keeps))


@operator("norm")
def norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Divided by the norm along a dimension, whose square is not below a number."""
    x = inputs.one("X")
    length = jnp.sqrt(jnp.sum(x * x, attributes["axis"], keepdims=True) + attributes["epsilon"])
    return {"Out": [x / length], "Norm": [length]}


@operator("clip_by_norm")
def clip_by_norm(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Scaled down to a norm, if it is longer."""
    x, most = inputs.one("X"), attributes["max_norm"]
    square = jnp.sum(x * x)
    is_long = square > most * most
    return out(jnp.where(is_long, x * (most / jnp.sqrt(jnp.where(is_long, square, 1))), x))


@operator("squared_l2_norm")
def squared_l2_norm(inputs: Inputs, _: Attributes) -> Outputs:
    """The sum of squares, of one element."""
    return out(jnp.sum(jnp.square(inputs.one("X"))).reshape(1))


@operator("cumsum")
def cumsum(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Sums of all before each element, with it or without."""
    x, axis = inputs.one("X"), attributes["axis"]
    if attributes.get("flatten"):
        x, axis = x.reshape(-1), 0
    turned = jnp.flip(x, axis) if attributes.get("reverse") else x
    found = jnp.cumsum(turned, axis, dtype=x.dtype)
    found = found - turned if attributes.get("exclusive") else found
    return out(jnp.flip(found, axis) if attributes.get("reverse") else found)
