"""What equations of padded batches do with rows: which go over them, and where results have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from epl.adapters.jax import hooks
from epl.adapters.jax.sample_rules import Dims, require
from epl.adapters.jax.sample_rules import result_dims as of_samples


def neutral(equation: Any, dims: Dims) -> Callable[[Any], Any] | None:
    """What stands for padding in an equation that goes over rows; None if it does not."""
    name = equation.primitive.name
    if name in _REDUCED and dims[0] in _gone(equation):
        return _REDUCED[name]
    if name in _CONTRACTIONS and _CONTRACTIONS[name](equation, dims):
        return _zero
    return None


def result_dims(equation: Any, dims: Dims) -> Dims:
    """Of the results of an equation that works on rows one by one."""
    name = equation.primitive.name
    if name in _TOGETHER:
        return _TOGETHER[name](equation, dims)
    if hooks.is_elementwise(equation.primitive) or name in _ELEMENTWISE:
        return [_dim(dims)] * len(equation.outvars)
    return of_samples(equation, equation, dims)


def _dim(dims: Dims) -> int:
    """The one dimension of all operands that have rows."""
    found = {dim for dim in dims if dim is not None}
    require(len(found) == 1)
    return found.pop()


def _zero(_: Any) -> Any:
    return 0


def _least(dtype: Any) -> Any:
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else _bounds(dtype)[0]


def _most(dtype: Any) -> Any:
    return jnp.inf if jnp.issubdtype(dtype, jnp.floating) else _bounds(dtype)[1]


def _bounds(dtype: Any) -> tuple[Any, Any]:
    return (False, True) if dtype.kind == "b" else (jnp.iinfo(dtype).min, jnp.iinfo(dtype).max)


_ELEMENTWISE = frozenset(
    ("add_any", "clamp", "convert_element_type", "copy", "name", "select_n", "stop_gradient")
)
RUNNING = frozenset(("cumsum",))
"""Equations that go over rows and have a result for each."""

_REDUCED: dict[str, Callable[[Any], Any]] = {
    "argmax": _least,
    "argmin": _most,
    "cumsum": _zero,
    "reduce_and": lambda _: True,
    "reduce_max": _least,
    "reduce_min": _most,
    "reduce_or": _zero,
    "reduce_prod": lambda _: 1,
    "reduce_sum": _zero,
}


def _gone(equation: Any) -> tuple[int, ...]:
    """The dimensions over which a reduction goes, or a running sum."""
    return tuple(equation.params["axes"]) if "axes" in equation.params else (equation.params["axis"],)


def _contracts(equation: Any, dims: Dims) -> bool:
    """Whether a product sums over rows."""
    contracted, _ = equation.params["dimension_numbers"]
    over = [dim in own for dim, own in zip(dims, contracted, strict=True) if dim is not None]
    places = {own.index(dim) for dim, own in zip(dims, contracted, strict=True) if dim in own}
    require(len(places) <= 1 and all(over) == any(over))
    return any(over)


def _convolves(equation: Any, dims: Dims) -> bool:
    """Whether a convolution sums over rows, as the gradient of weights does: they are its channels."""
    numbers = equation.params["dimension_numbers"]
    return dims == [numbers.lhs_spec[1], numbers.rhs_spec[1]]


def _scatters(equation: Any, dims: Dims) -> bool:
    """Whether rows are added to what has none."""
    operand, positions, updates = dims
    numbers = equation.params["dimension_numbers"]
    if operand is not None or updates is None:
        return False
    rank = len(equation.invars[2].aval.shape)
    scattered = [dim for dim in range(rank) if dim not in numbers.update_window_dims]
    return updates in scattered and positions in (None, scattered.index(updates))


def _scatter_along(equation: Any, dims: Dims) -> Dims:
    """What is added in places of another dimension than that of the rows, which are whole."""
    operand, positions, updates = dims
    require(positions is None and updates is not None)
    numbers = equation.params["dimension_numbers"]
    shape, extents = (equation.invars[index].aval.shape for index in (0, 2))
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = [dim for dim in range(len(shape)) if dim not in gone]
    found = dict(zip(numbers.update_window_dims, windows, strict=True)).get(updates)
    require(found is not None and found not in numbers.scatter_dims_to_operand_dims)
    require(operand in (None, found) and shape[found] == extents[updates])
    return [found]


_CONTRACTIONS: dict[str, Callable[[Any, Dims], bool]] = {
    "conv_general_dilated": _convolves,
    "dot_general": _contracts,
    "scatter-add": _scatters,
    "scatter_add": _scatters,
}


def _broadcast(equation: Any, dims: Dims) -> Dims:
    dim = _dim(dims)
    found = equation.params["broadcast_dimensions"][dim]
    require(equation.invars[0].aval.shape[dim] == equation.params["shape"][found])
    return [found]


def _concatenate(equation: Any, dims: Dims) -> Dims:
    require(equation.params["dimension"] != _dim(dims))
    return [_dim(dims)]


def _sort(equation: Any, dims: Dims) -> Dims:
    require(equation.params["dimension"] != _dim(dims))
    return [_dim(dims)] * len(equation.outvars)


def _tile(equation: Any, dims: Dims) -> Dims:
    require(equation.params["reps"][_dim(dims)] == 1)
    return [_dim(dims)]


def _scatter_window(equation: Any, dims: Dims) -> Dims:
    """The gradient of the largest of each window, to where it is."""
    dim = _dim(dims)
    window = zip(*(equation.params[name] for name in _WINDOW), strict=True)
    require(None not in dims and list(window)[dim] == (1, 1, (0, 0)))
    return [dim]


_WINDOW = ("window_dimensions", "window_strides", "padding")

_TOGETHER: dict[str, Callable[[Any, Dims], Dims]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "scatter-add": _scatter_along,
    "scatter_add": _scatter_along,
    "select_and_scatter_add": _scatter_window,
    "sort": _sort,
    "tile": _tile,
}
