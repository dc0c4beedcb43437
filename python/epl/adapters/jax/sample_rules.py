"""Where the samples of a result are, by primitive.

A rule says along which dimension the results of an equation have samples, from those of its operands, if the
equation works on samples one by one. What has no rule is taken for what mixes samples, which is right for
every primitive: its values are then computed once more for each micro-batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from epl.adapters.jax import hooks

Dims = list[int | None]
"""Of values: the dimension that has samples; None where batch and micro-batch have the same value."""


class MixedError(Exception):
    """What a micro-batch makes is no part of what the batch makes."""


def result_dims(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    """Of the results of an equation that holds no jaxprs.

    Args:
      whole: the equation in the trace of the batch.
      micro: one of the same primitive in that of a micro-batch.
      dims: of its operands.

    Raises:
      MixedError: if the results of a micro-batch are no parts of those of the batch.
    """
    if all(dim is None for dim in dims) and alike(whole, micro):
        return [None] * len(whole.outvars)
    if hooks.is_elementwise(whole.primitive) and whole.primitive.name != "random_bits":
        return _elementwise(whole, micro, dims)
    if hooks.is_reduction(whole.primitive):
        return _reduction(whole, micro, dims)
    rule = _RULES.get(whole.primitive.name)
    if rule is None:
        raise MixedError
    return rule(whole, micro, list(dims))


def alike(whole: Any, micro: Any, *but: str) -> bool:
    """Whether two equations do the same, except what these parameters say."""
    a, b = ({k: v for k, v in each.params.items() if k not in but} for each in (whole, micro))
    if any(hooks.inner_jaxprs(whole)):
        return False
    try:
        return bool(a == b)
    except ValueError:  # arrays among them
        return False


def _one(dims: Sequence[int | None]) -> int:
    """The one dimension of all operands that have samples."""
    found = {dim for dim in dims if dim is not None}
    if len(found) != 1:
        raise MixedError
    return found.pop()


def require(condition: bool) -> None:
    """Raises `MixedError` otherwise."""
    if not condition:
        raise MixedError


def _elementwise(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    dim = _one(dims)
    require(alike(whole, micro))
    for value, own in zip(whole.invars, dims, strict=True):
        shape = value.aval.shape
        require(own is not None or not shape or shape[dim] == 1)
    return [dim] * len(whole.outvars)


def _left(dim: int, gone: Sequence[int]) -> int:
    """A dimension where others are taken out."""
    require(dim not in gone)
    return dim - sum(other < dim for other in gone)


def _reduction(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    require(alike(whole, micro))
    return [_left(_one(dims), whole.params["axes"])]


def _squeeze(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro))
    return [_left(_one(dims), whole.params["dimensions"])]


def _transpose(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro))
    return [whole.params["permutation"].index(_one(dims))]


def _stack(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro) and None not in dims)
    return [_one(dims) + (whole.params["axis"] <= _one(dims))]


def _unstack(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro))
    return [_left(_one(dims), [whole.params["axis"]])] * len(whole.outvars)


def _tile(whole: Any, micro: Any, _: Dims) -> Dims:
    """One value again and again, for a micro-batch less often."""
    require(alike(whole, micro, "reps"))
    return [_differing(whole, micro)]


def _iota(whole: Any, micro: Any, _: Dims) -> Dims:
    """Numbers that do not count samples."""
    require(alike(whole, micro, "shape") and whole.params["dimension"] != _differing(whole, micro))
    return [_differing(whole, micro)]


def _random_bits(whole: Any, micro: Any, dims: Dims) -> Dims:
    """Those that the samples of a micro-batch have in the batch."""
    require(alike(whole, micro, "shape"))
    return [_differing(whole, micro)] if dims == [None] else _elementwise(whole, micro, dims)


def _differing(whole: Any, micro: Any) -> int:
    shapes = zip(whole.outvars[0].aval.shape, micro.outvars[0].aval.shape, strict=True)
    return _one([index for index, (a, b) in enumerate(shapes) if a != b])


def _broadcast(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro, "shape"))
    if all(dim is None for dim in dims):
        return [_differing(whole, micro)]
    return [whole.params["broadcast_dimensions"][_one(dims)]]


def _reshape(whole: Any, micro: Any, dims: Dims) -> Dims:
    """Blocks of samples stay blocks where what is outside of them stays as large."""
    require(alike(whole, micro, "new_sizes") and whole.params["dimensions"] is None)
    old, new = whole.invars[0].aval.shape, whole.outvars[0].aval.shape
    dim = _differing(whole, micro)
    require(math.prod(old[: _one(dims)]) == math.prod(new[:dim]))
    return [dim]


def _along(name: str) -> Callable[[Any, Any, Dims], Dims]:
    """The rule of what works along a dimension, row by row."""

    def rule(whole: Any, micro: Any, dims: Dims) -> Dims:
        require(alike(whole, micro) and None not in dims)
        along = whole.params[name]
        require(_one(dims) not in (along if isinstance(along, tuple) else (along,)))
        return [_one(dims)] * len(whole.outvars)

    return rule


def _select(whole: Any, micro: Any, dims: Dims) -> Dims:
    """A scalar may choose, or bound."""
    require(alike(whole, micro))
    dim = _one(dims)
    for value, own in zip(whole.invars, dims, strict=True):
        require(own is not None or not value.aval.shape)
    return [dim]


def _slice(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro, "limit_indices"))
    dim = _one(dims)
    for each in (whole, micro):
        strides = each.params["strides"]
        require(each.params["start_indices"][dim] == 0 and (strides is None or strides[dim] == 1))
        require(each.params["limit_indices"][dim] == each.invars[0].aval.shape[dim])
    return [dim]


def _pad(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro) and dims[0] is not None and dims[1] is None)
    require(whole.params["padding_config"][dims[0]] == (0, 0, 0))
    return [dims[0]]


def _product(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro))
    contracted, batches = whole.params["dimension_numbers"]
    if None not in dims:
        found = [own.index(dim) if dim in own else -1 for own, dim in zip(batches, dims, strict=True)]
        require(found[0] == found[1] != -1)
        return [found[0]]
    side = 0 if dims[1] is None else 1
    dim = _one(dims)
    before = len(batches[0])
    if side == 1:
        left = len(whole.invars[0].aval.shape)
        before = left - len(contracted[0])
    return [before + _left(dim, (*contracted[side], *batches[side]))]


def _convolution(whole: Any, micro: Any, dims: Dims) -> Dims:
    numbers = whole.params["dimension_numbers"]
    require(alike(whole, micro) and whole.params["batch_group_count"] == 1)
    require(dims == [numbers.lhs_spec[0], None])
    return [numbers.out_spec[0]]


def _window(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro))
    dim = _one(dims)
    for name, trivial in (("window_dimensions", 1), ("window_strides", 1), ("padding", (0, 0))):
        require(tuple(whole.params[name])[dim] == trivial)
    for name in ("base_dilation", "window_dilation"):
        require(tuple(whole.params[name])[dim] == 1)
    return [dim]


def _gather(whole: Any, micro: Any, dims: Dims) -> Dims:
    require(alike(whole, micro, "slice_sizes"))
    numbers = whole.params["dimension_numbers"]
    operand, positions = dims
    rank = len(whole.outvars[0].aval.shape)
    if positions is None:
        return [_gathered_window(whole, micro, operand)]
    if operand is not None:
        batches = (numbers.operand_batching_dims, numbers.start_indices_batching_dims)
        require((operand, positions) in zip(*batches, strict=True))
    require(positions < len(whole.invars[1].aval.shape) - 1)
    return [[dim for dim in range(rank) if dim not in numbers.offset_dims][positions]]


def _gathered_window(whole: Any, micro: Any, dim: int | None) -> int:
    """A dimension of the operand that is taken whole."""
    numbers = whole.params["dimension_numbers"]
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    require(dim is not None and dim not in (*gone, *numbers.start_index_map))
    assert dim is not None
    for each in (whole, micro):
        require(each.params["slice_sizes"][dim] == each.invars[0].aval.shape[dim])
    return int(numbers.offset_dims[_left(dim, gone)])


_Rule = Callable[[Any, Any, Dims], Dims]
_RULES: dict[str, _Rule] = {
    "broadcast_in_dim": _broadcast,
    "clamp": _select,
    "concatenate": _along("dimension"),
    "conv_general_dilated": _convolution,
    "convert_element_type": _select,
    "dot_general": _product,
    "epl_constrain": _select,
    "gather": _gather,
    "iota": _iota,
    "name": _select,
    "pad": _pad,
    "random_bits": _random_bits,
    "reshape": _reshape,
    "rev": _along("dimensions"),
    "select_n": _select,
    "slice": _slice,
    "sort": _along("dimension"),
    "split": _along("axis"),
    "squeeze": _squeeze,
    "stack": _stack,
    "stop_gradient": _select,
    "tile": _tile,
    "top_k": _along("axis"),
    "transpose": _transpose,
    "unstack": _unstack,
    **{f"reduce_window_{kind}": _window for kind in ("sum", "max", "min")},
    **{f"cum{kind}": _along("axis") for kind in ("sum", "prod", "max", "min", "logsumexp")},
}
