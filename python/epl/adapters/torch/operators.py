"""Operators of ATen that torchax has not, or has otherwise than torch, on arrays of JAX.

Gradients of convolutions and the like are in `gradients.py`, matrices in `matrices.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch

from epl.adapters.torch import hooks
from epl.adapters.torch.tensors import jax_dtype

_ATEN = torch.ops.aten

_FEW = 8  # elements of a line that a scatter writes by comparing

SAME = frozenset(
    {
        _ATEN.alias.default,
        _ATEN.detach.default,
        _ATEN.lift_fresh.default,
        _ATEN.lift_fresh_copy.default,
        _ATEN.clone.default,
        _ATEN.contiguous.default,
    }
)
"""Operators whose result is their operand: arrays of JAX do not change."""

NOTHING = frozenset(
    {
        torch.ops.profiler._record_function_enter_new.default,
        torch.ops.profiler._record_function_exit._RecordFunction,
    }
)
"""Operators that compute nothing."""


def _to_copy(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    return x if dtype is None else x.astype(jax_dtype(dtype))


def _gather(x: Any, dim: int, index: Any, **_: Any) -> Any:
    """x[i, j, index[i, j, k]] for `dim` 2, as a look-up in a batch, which shards along other dimensions."""
    if not x.ndim:
        return jnp.broadcast_to(x, index.shape)
    axis = dim % x.ndim
    others = [slice(None) if d == axis else slice(extent) for d, extent in enumerate(index.shape)]
    return jnp.take_along_axis(x[tuple(others)], index, axis, mode="promise_in_bounds")


def _scattered(combine: Callable[[Any, Any], Any], operator: Any) -> Callable[..., Any]:
    """Writes few elements of a line by comparing positions, which shards; more by torchax's scatter."""

    def scatter(x: Any, dim: int, index: Any, source: Any, **options: Any) -> Any:
        axis = dim % x.ndim if x.ndim else 0
        rest = [extent for d, extent in enumerate(x.shape) if d != axis]
        count = index.shape[axis] if x.ndim else 0
        if not 0 < count <= _FEW or rest != [n for d, n in enumerate(index.shape) if d != axis] or options:
            return hooks.lower(operator, (x, dim, index, source), options)
        positions = jax.lax.broadcasted_iota(index.dtype, x.shape, axis)
        for iteration in range(count):
            here = jax.lax.slice_in_dim(index, iteration, iteration + 1, axis=axis)
            many = isinstance(source, jax.Array) and source.ndim
            value = jax.lax.slice_in_dim(source, iteration, iteration + 1, axis=axis) if many else source
            x = jnp.where(positions == here, combine(x, jnp.asarray(value, x.dtype)), x)
        return x

    return scatter


def _slice_scatter(
    x: Any, source: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """Torchax writes the whole array where `dim` counts from the end."""
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, end, step)
    return x.at[tuple(index)].set(source)


def _embedding(weight: Any, indices: Any, *_: Any) -> Any:
    return weight.at[indices].get(mode="promise_in_bounds")


def _embedding_backward(grad: Any, indices: Any, count: int, padding: int, by_frequency: bool) -> Any:
    if by_frequency:
        raise LookupError("scale_grad_by_freq")
    if padding >= 0:
        grad = jnp.where((indices == padding)[..., None], 0, grad)
    return jnp.zeros((count, grad.shape[-1]), grad.dtype).at[indices].add(grad, mode="promise_in_bounds")


class _Bags:
    """How `aten._embedding_bag` puts rows together: the values of `mode`."""

    SUM, MEAN, MAX = range(3)


def _embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    by_frequency: bool = False,
    mode: int = _Bags.SUM,
    _sparse: bool = False,
    weights: Any = None,
    ends: bool = False,
    padding: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """The rows of each bag put together.

    Returns:
      these [bags, columns]; the bag of each index, which torch leaves out where it sums without padding; the
      size of each bag; of the largest element of each column its row.
    """
    if by_frequency:
        raise LookupError("scale_grad_by_freq")
    bags, columns = offsets.shape[0] - ends, weight.shape[1]
    bag = _bag_of_each(indices, offsets, bags)
    kept = indices != padding
    sizes = jnp.zeros(bags, offsets.dtype).at[bag].add(kept.astype(offsets.dtype))
    rows = _embedding(weight, indices)
    if weights is not None:
        rows *= weights[:, None]
    if mode == _Bags.MAX:
        made, largest = _largest(rows, kept, bag, bags, indices)
        return made, bag, sizes, largest
    made = jnp.zeros((bags, columns), rows.dtype).at[bag].add(jnp.where(kept[:, None], rows, 0))
    if mode == _Bags.MEAN:
        return made / jnp.maximum(sizes, 1)[:, None].astype(made.dtype), bag, sizes, sizes
    is_told = padding >= 0 or weight.dtype not in (jnp.float32, jnp.float16)
    return made, bag if is_told else bag[:0], sizes, sizes


def _bag_of_each(indices: Any, offsets: Any, bags: int) -> Any:
    """The bag of each index; of bags that begin at the same index all but the last are empty."""
    begins = jnp.zeros(indices.shape, offsets.dtype).at[offsets[:bags]].add(1, mode="drop")
    return jnp.cumsum(begins) - 1


def _largest(rows: Any, kept: Any, bag: Any, bags: int, indices: Any) -> tuple[Any, Any]:
    """The largest elements [bags, columns], 0 in empty bags, and the indices of their rows, -1 there."""
    shape, count = (bags, rows.shape[1]), rows.shape[0]
    offered = jnp.where(kept[:, None], rows, -jnp.inf)
    most = jnp.full(shape, -jnp.inf, rows.dtype).at[bag].max(offered)
    is_most = kept[:, None] & (offered == most[bag])
    position = jnp.where(is_most, jnp.arange(count)[:, None], count)
    first = jnp.full(shape, count).at[bag].min(position)
    is_empty = first == count
    return jnp.where(is_empty, 0, most), jnp.where(is_empty, -1, indices[jnp.minimum(first, count - 1)])


def _embedding_bag_backward(
    grad: Any,
    indices: Any,
    offsets: Any,
    _bag: Any,
    sizes: Any,
    largest: Any,
    count: int,
    _by_frequency: bool,
    mode: int,
    _sparse: bool,
    weights: Any,
    padding: int = -1,
) -> Any:
    """The gradient of the rows [count, columns] for that of the bags."""
    made = jnp.zeros((count, grad.shape[1]), grad.dtype)
    if mode == _Bags.MAX:
        here = jnp.where(largest < 0, 0, grad)
        return made.at[jnp.maximum(largest, 0), jnp.arange(grad.shape[1])].add(here)
    if mode == _Bags.MEAN:
        grad /= jnp.maximum(sizes, 1)[:, None].astype(grad.dtype)
    each = grad[_bag_of_each(indices, offsets, grad.shape[0])]
    if weights is not None:
        each *= weights[:, None]
    return made.at[indices].add(jnp.where((indices == padding)[:, None], 0, each), mode="promise_in_bounds")


def _embedding_bag_weights_backward(
    grad: Any, weight: Any, indices: Any, offsets: Any, _bag: Any, _mode: int, padding: int = -1
) -> Any:
    bag = _bag_of_each(indices, offsets, grad.shape[0])
    each = (grad[bag] * _embedding(weight, indices)).sum(-1)
    return jnp.where(indices == padding, 0, each)


def _weight_norm_backward(grad: Any, v: Any, g: Any, norms: Any, dim: int) -> tuple[Any, Any]:
    """Of `g * v / norms`; norms are over all dimensions but one."""
    others = tuple(d for d in range(v.ndim) if d != dim % v.ndim)
    along = (grad * v).sum(others, keepdims=True)
    return g / norms * (grad - v * (along / (norms * norms))), along / norms


def _exponential(x: Any, rate: float = 1.0, **_: Any) -> Any:
    return (jax.random.exponential(_next_key(), x.shape, jnp.float32) / rate).astype(x.dtype)


def _bernoulli(x: Any, p: float = 0.5, **_: Any) -> Any:
    drawn = jax.random.uniform(_next_key(), x.shape, jnp.float32) < jnp.float32(p)
    return drawn.astype(x.dtype)


def _bernoulli_each(p: Any, **_: Any) -> Any:
    drawn = jax.random.uniform(_next_key(), p.shape, jnp.float32) < p
    return drawn.astype(p.dtype)


def _next_key() -> Any:
    return hooks.ENVIRONMENT.get_and_rotate_prng_key()


OWN: dict[Any, Callable[..., Any]] = {
    _ATEN._to_copy.default: _to_copy,
    _ATEN.exponential.default: _exponential,
    _ATEN.gather.default: _gather,
    _ATEN.scatter.value: _scattered(lambda _, new: new, _ATEN.scatter.value),
    _ATEN.scatter.src: _scattered(lambda _, new: new, _ATEN.scatter.src),
    _ATEN.scatter_add.default: _scattered(jnp.add, _ATEN.scatter_add.default),
    _ATEN.slice_scatter.default: _slice_scatter,
    _ATEN.embedding.default: _embedding,
    _ATEN.embedding_dense_backward.default: _embedding_backward,
    _ATEN._embedding_bag.default: _embedding_bag,
    _ATEN._embedding_bag_backward.default: _embedding_bag_backward,
    _ATEN._embedding_bag_per_sample_weights_backward.default: _embedding_bag_weights_backward,
    _ATEN._weight_norm_interface_backward.default: _weight_norm_backward,
    _ATEN.bernoulli.p: _bernoulli,
    _ATEN.bernoulli.default: _bernoulli_each,
}
"""By the operator's overload."""
