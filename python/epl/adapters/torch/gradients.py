"""Gradients that a graph of torch has as operators, on arrays of JAX: of convolutions, poolings, resizings.

Torchax leaves differentiation to JAX. Where it has the operator itself, so does this: what is linear in its
operand is transposed, another one differentiated where it stands.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from epl.adapters.torch import hooks

_ATEN = torch.ops.aten


def _convolution_backward(grad: Any, x: Any, weight: Any, _bias: Any, *rest: Any) -> tuple[Any, ...]:
    *settings, wanted = rest
    run = lambda x, weight: hooks.lower(_ATEN.convolution.default, (x, weight, None, *settings), {})  # noqa: E731
    of_x, of_weight = jax.vjp(run, x, weight)[1](grad)
    of_bias = grad.sum((0, *range(2, grad.ndim)))
    return _those_wanted((of_x, of_weight, of_bias), wanted)


def _those_wanted(gradients: Sequence[Any], wanted: Sequence[bool]) -> tuple[Any, ...]:
    """None in the place of gradients that torch has no use for."""
    return tuple(made if want else None for made, want in zip(gradients, wanted, strict=True))


def _each(values: Any, count: int) -> list[int]:
    numbers = [values] if isinstance(values, int) else list(values)
    return numbers * count if len(numbers) == 1 else numbers


def _max_pool(
    rank: int,
    x: Any,
    window: Any,
    strides: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Any, Any]:
    """The largest element of each window of the last `rank` dimensions, the first of equal ones or NaN.

    Returns:
      the elements and their positions in these dimensions, flat.
    """
    extents, steps = _each(window, rank), _each(strides or window, rank)
    low, gaps = _each(padding, rank), _each(dilation, rank)
    shape = x.shape[-rank:]
    outer = x.ndim - rank
    pads = [(0, 0)] * outer + [
        (before, _high(before, extent, window, step, gap, ceil_mode=ceil_mode))
        for before, extent, window, step, gap in zip(low, shape, extents, steps, gaps, strict=True)
    ]
    least = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    positions = jnp.broadcast_to(jnp.arange(math.prod(shape), dtype=jnp.int32).reshape(shape), x.shape)

    def larger(kept: Any, other: Any) -> Any:
        stays = (kept[0] > other[0]) | ((kept[0] == other[0]) & (kept[1] <= other[1])) | (kept[0] != kept[0])
        return jnp.where(stays, kept[0], other[0]), jnp.where(stays, kept[1], other[1])

    first = (jnp.asarray(least, x.dtype), jnp.int32(np.iinfo(np.int32).max))
    sizes = [1] * outer + extents, [1] * outer + steps
    values, places = jax.lax.reduce_window(
        (x, positions), first, larger, *sizes, pads, window_dilation=[1] * outer + gaps
    )
    return values, places


def _high(low: int, extent: int, window: int, step: int, gap: int, *, ceil_mode: bool) -> int:
    """Padding behind a dimension: torch's windows begin inside the operand or the padding before it."""
    span = (window - 1) * gap + 1
    room = extent + 2 * low - span
    count = (-(-room // step) if ceil_mode else room // step) + 1
    if ceil_mode and (count - 1) * step >= extent + low:
        count -= 1
    return max(0, (count - 1) * step + span - extent - low)


def _max_pool_backward(
    rank: int,
    grad: Any,
    x: Any,
    window: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    _ceil_mode: bool,
    indices: Any,
) -> Any:
    """Each offset of a window gives back the gradient of the windows whose largest element stands there.

    Args:
      grad, indices: [..., *counts of windows]; positions in the flat spatial dimensions of `x`.
    """
    extents, steps = _each(window, rank), _each(strides or window, rank)
    low, gaps = _each(padding, rank), _each(dilation, rank)
    shape, counts = x.shape[-rank:], grad.shape[-rank:]
    total = jnp.zeros(x.shape, grad.dtype)
    for offset in itertools.product(*map(range, extents)):
        begins = [o * gap - before for o, gap, before in zip(offset, gaps, low, strict=True)]
        mine = jnp.where(indices == _positions(begins, steps, counts, shape), grad, 0)
        ends = [begin + (n - 1) * step + 1 for begin, n, step in zip(begins, counts, steps, strict=True)]
        spread = [(b, n - e, s - 1) for b, n, e, s in zip(begins, shape, ends, steps, strict=True)]
        pads = [(0, 0, 0)] * (x.ndim - rank) + spread
        total += jax.lax.pad(mine, jnp.zeros((), grad.dtype), pads)
    return total


def _positions(
    begins: Sequence[int], steps: Sequence[int], counts: Sequence[int], shape: Sequence[int]
) -> Any:
    """The flat position of an offset in every window; -1 where it is padding."""
    flat, inside = jnp.zeros(counts, jnp.int64), jnp.ones(counts, bool)
    for dim, (begin, step, count, extent) in enumerate(zip(begins, steps, counts, shape, strict=True)):
        along = begin + step * jnp.arange(count, dtype=jnp.int64)
        line = along.reshape([count if i == dim else 1 for i in range(len(counts))])
        flat, inside = flat * extent + line, inside & (line >= 0) & (line < extent)
    return jnp.where(inside, flat, -1)


def _transposed(operator: Any, shape: Any, grad: Any, settings: Sequence[Any]) -> Any:
    """The gradient of an operator that is linear in its first operand, which has a shape."""
    run = lambda x: hooks.lower(operator, (x, *settings), {})  # noqa: E731
    (made,) = jax.vjp(run, jnp.zeros(tuple(shape), grad.dtype))[1](grad)
    return made


def _pooled(operator: Any) -> Callable[..., Any]:
    """The gradient of a pooling or padding, called with (gradient, operand, settings of the operator)."""
    return lambda grad, x, *settings: _transposed(operator, x.shape, grad, settings)


def _adaptive(operator: Any, rank: int) -> Callable[..., Any]:
    """The gradient of a pooling to a size, called with (gradient, operand)."""
    return lambda grad, x: _transposed(operator, x.shape, grad, (grad.shape[-rank:],))


def _resized(operator: Any) -> Callable[..., Any]:
    """The gradient of a resizing, called with (gradient, size of result, of operand, settings)."""
    return lambda grad, made, size, *settings: _transposed(operator, size, grad, (made, *settings))


def _sampled(operator: Any) -> Callable[..., Any]:
    """The gradients of a sampling at a grid's places, of the operand and of the grid."""

    def backward(grad: Any, x: Any, grid: Any, *rest: Any) -> tuple[Any, ...]:
        *settings, wanted = rest
        run = lambda x, grid: hooks.lower(operator, (x, grid, *settings), {})  # noqa: E731
        return _those_wanted(jax.vjp(run, x, grid)[1](grad), wanted)

    return backward


def _distance_backward(grad: Any, x: Any, y: Any, p: float, distances: Any) -> Any:
    """Of distances [..., rows of x, rows of y] with respect to x; 0 where rows are equal."""
    gaps = x[..., :, None, :] - y[..., None, :, :]
    if p == 1:
        return (grad[..., None] * jnp.sign(gaps)).sum(-2)
    if p != 2:
        raise LookupError(f"distances of p = {p}")
    scale = jnp.where(distances == 0, 0, grad / jnp.where(distances == 0, 1, distances))
    return (scale[..., None] * gaps).sum(-2)


def _shrink_backward(grad: Any, x: Any, bound: float) -> Any:
    return jnp.where(jnp.abs(x) > bound, grad, 0)


_LINEAR = {
    _pooled: "avg_pool2d avg_pool3d replication_pad1d replication_pad2d replication_pad3d",
    _resized: """
        upsample_nearest1d upsample_nearest2d upsample_nearest3d
        _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
        upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d""",
}
"""Operators by what their gradients are made of."""

OWN: dict[Any, Callable[..., Any]] = {
    _ATEN.convolution_backward.default: _convolution_backward,
    _ATEN.max_pool2d_with_indices.default: functools.partial(_max_pool, 2),
    _ATEN.max_pool2d_with_indices_backward.default: functools.partial(_max_pool_backward, 2),
    _ATEN.max_pool3d_with_indices.default: functools.partial(_max_pool, 3),
    _ATEN.max_pool3d_with_indices_backward.default: functools.partial(_max_pool_backward, 3),
    _ATEN._adaptive_avg_pool2d_backward.default: _adaptive(_ATEN._adaptive_avg_pool2d.default, 2),
    _ATEN._adaptive_avg_pool3d_backward.default: _adaptive(_ATEN._adaptive_avg_pool3d.default, 3),
    _ATEN.grid_sampler_2d_backward.default: _sampled(_ATEN.grid_sampler_2d.default),
    _ATEN._cdist_backward.default: _distance_backward,
    _ATEN.hardshrink_backward.default: _shrink_backward,
    _ATEN.softshrink_backward.default: _shrink_backward,
    **{
        getattr(_ATEN, f"{name}_backward").default: kind(getattr(_ATEN, name).default)
        for kind, names in _LINEAR.items()
        for name in names.split()
    },
}
"""By the operator's overload."""
