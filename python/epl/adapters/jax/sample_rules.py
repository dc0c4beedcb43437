"""Where the samples of a value are: what a micro-batch makes of it is then a part of what the batch makes.

Problem: a step was traced for the whole batch and for a micro-batch of it. Some values of the second trace
are parts of those of the first, in the order of the samples along one dimension; others are not, such as
sums over samples and sorted samples.
Method: a rule for each primitive says along which dimension its results are, from those of its operands, if
it works on samples one by one. What has no rule is taken for what mixes samples, which is right for every
primitive. Both traces are compared on the way: what else differs in them than the number of samples makes
other values, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend.core import Literal

from epl.adapters.jax import hooks

Dims = list[int | None]
"""Of values: the dimension that has samples; None where batch and micro-batch have the same value."""


class MixedError(Exception):
    """What a micro-batch makes is no part of what the batch makes."""


def result_dims(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    """Of the results of an equation.

    Args:
      whole: the equation in the trace of the batch.
      micro: the same in that of a micro-batch.
      dims: of its operands.

    Raises:
      MixedError: if the results of a micro-batch are no parts of those of the batch.
    """
    inner, inner_micro = hooks.called(whole), hooks.called(micro)
    if inner is not None:
        found = _body_dims(inner, inner_micro, dims)
    elif all(dim is None for dim in dims) and _alike(whole, micro):
        found = [None] * len(whole.outvars)
    elif hooks.is_elementwise(whole.primitive) and whole.primitive.name != "random_bits":
        found = _elementwise(whole, micro, dims)
    elif hooks.is_reduction(whole.primitive):
        found = _reduction(whole, micro, dims)
    elif (rule := _RULES.get(whole.primitive.name)) is not None:
        found = rule(whole, micro, list(dims))
    else:
        raise MixedError
    for a, b, dim in zip(whole.outvars, micro.outvars, found, strict=True):
        if not _is_part(a.aval.shape, b.aval.shape, dim):
            raise MixedError
    return found


def _is_part(whole: Sequence[int], micro: Sequence[int], dim: int | None) -> bool:
    """Whether shapes differ in nothing but the number of samples."""
    differing = [index for index, pair in enumerate(zip(whole, micro, strict=True)) if pair[0] != pair[1]]
    return differing == ([] if dim is None else [dim])


def _body_dims(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    """Of the results of a jaxpr; what mixes samples and no result is made of does not matter."""
    if not same_equations(whole.jaxpr, micro.jaxpr):
        raise MixedError
    known: dict[Any, int | None] = dict(zip(whole.jaxpr.invars, dims, strict=True))
    constants = zip(whole.jaxpr.constvars, whole.consts, micro.consts, strict=True)
    known |= {variable: None for variable, a, b in constants if same_array(a, b)}
    for a, b in zip(whole.jaxpr.eqns, micro.jaxpr.eqns, strict=True):
        try:
            operands = _read(known, a.invars, b.invars)
            known.update(zip(a.outvars, result_dims(a, b, operands), strict=True))
        except MixedError:
            continue
    return _read(known, whole.jaxpr.outvars, micro.jaxpr.outvars)


def _read(known: Mapping[Any, int | None], whole: Sequence[Any], micro: Sequence[Any]) -> Dims:
    """Of variables and constants."""

    def read(value: Any, other: Any) -> int | None:
        if not isinstance(value, Literal) and value in known:
            return known[value]
        _require(isinstance(value, Literal) and same_array(value.val, other.val))
        return None

    return [read(*pair) for pair in zip(whole, micro, strict=True)]


def same_equations(whole: Any, micro: Any) -> bool:
    """Whether two jaxprs have the same primitives in the same order, with the same flow of values."""
    ends, others = ([*each.constvars, *each.invars] for each in (whole, micro))
    if len(whole.eqns) != len(micro.eqns) or len(ends) != len(others):
        return False
    variables = dict(zip(ends, others, strict=True))

    def agree(values: Sequence[Any], others: Sequence[Any]) -> bool:
        return len(values) == len(others) and all(
            isinstance(b, Literal) if isinstance(a, Literal) else variables.get(a) is b
            for a, b in zip(values, others, strict=True)
        )

    for a, b in zip(whole.eqns, micro.eqns, strict=True):
        if a.primitive is not b.primitive or not agree(a.invars, b.invars):
            return False
        if len(a.outvars) != len(b.outvars):
            return False
        variables.update(zip(a.outvars, b.outvars, strict=True))
    return agree(whole.outvars, micro.outvars)


def same_array(one: Any, other: Any) -> bool:
    """Whether two constants are equal."""
    if one is other:
        return True
    if isinstance(one, hooks.KEY_TYPE) or isinstance(other, hooks.KEY_TYPE):
        return False
    one, other = np.asarray(one), np.asarray(other)
    same_type = one.dtype == other.dtype and one.shape == other.shape
    return bool(same_type and one.tobytes() == other.tobytes())


def _alike(whole: Any, micro: Any, *but: str) -> bool:
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


def _require(condition: bool) -> None:
    if not condition:
        raise MixedError


def _elementwise(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    dim = _one(dims)
    _require(_alike(whole, micro))
    for value, own in zip(whole.invars, dims, strict=True):
        shape = value.aval.shape
        _require(own is not None or not shape or shape[dim] == 1)
    return [dim] * len(whole.outvars)


def _left(dim: int, gone: Sequence[int]) -> int:
    """A dimension where others are taken out."""
    _require(dim not in gone)
    return dim - sum(other < dim for other in gone)


def _reduction(whole: Any, micro: Any, dims: Sequence[int | None]) -> Dims:
    _require(_alike(whole, micro))
    return [_left(_one(dims), whole.params["axes"])]


def _squeeze(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro))
    return [_left(_one(dims), whole.params["dimensions"])]


def _transpose(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro))
    return [whole.params["permutation"].index(_one(dims))]


def _stack(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro) and None not in dims)
    return [_one(dims) + (whole.params["axis"] <= _one(dims))]


def _unstack(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro))
    return [_left(_one(dims), [whole.params["axis"]])] * len(whole.outvars)


def _tile(whole: Any, micro: Any, _: Dims) -> Dims:
    """One value again and again, for a micro-batch less often."""
    _require(_alike(whole, micro, "reps"))
    return [_differing(whole, micro)]


def _iota(whole: Any, micro: Any, _: Dims) -> Dims:
    """Numbers that do not count samples."""
    _require(_alike(whole, micro, "shape") and whole.params["dimension"] != _differing(whole, micro))
    return [_differing(whole, micro)]


def _random_bits(whole: Any, micro: Any, dims: Dims) -> Dims:
    """Those that the samples of a micro-batch have in the batch."""
    _require(_alike(whole, micro, "shape"))
    return [_differing(whole, micro)] if dims == [None] else _elementwise(whole, micro, dims)


def _differing(whole: Any, micro: Any) -> int:
    shapes = zip(whole.outvars[0].aval.shape, micro.outvars[0].aval.shape, strict=True)
    return _one([index for index, (a, b) in enumerate(shapes) if a != b])


def _broadcast(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro, "shape"))
    if all(dim is None for dim in dims):
        return [_differing(whole, micro)]
    return [whole.params["broadcast_dimensions"][_one(dims)]]


def _reshape(whole: Any, micro: Any, dims: Dims) -> Dims:
    """Blocks of samples stay blocks where what is outside of them stays as large."""
    _require(_alike(whole, micro, "new_sizes") and whole.params["dimensions"] is None)
    old, new = whole.invars[0].aval.shape, whole.outvars[0].aval.shape
    dim = _differing(whole, micro)
    _require(math.prod(old[: _one(dims)]) == math.prod(new[:dim]))
    return [dim]


def _along(name: str) -> Callable[[Any, Any, Dims], Dims]:
    """The rule of what works along a dimension, row by row."""

    def rule(whole: Any, micro: Any, dims: Dims) -> Dims:
        _require(_alike(whole, micro) and None not in dims)
        along = whole.params[name]
        _require(_one(dims) not in (along if isinstance(along, tuple) else (along,)))
        return [_one(dims)] * len(whole.outvars)

    return rule


def _select(whole: Any, micro: Any, dims: Dims) -> Dims:
    """A scalar may choose, or bound."""
    _require(_alike(whole, micro))
    dim = _one(dims)
    for value, own in zip(whole.invars, dims, strict=True):
        _require(own is not None or not value.aval.shape)
    return [dim]


def _slice(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro, "limit_indices"))
    dim = _one(dims)
    for each in (whole, micro):
        strides = each.params["strides"]
        _require(each.params["start_indices"][dim] == 0 and (strides is None or strides[dim] == 1))
        _require(each.params["limit_indices"][dim] == each.invars[0].aval.shape[dim])
    return [dim]


def _pad(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro) and dims[0] is not None and dims[1] is None)
    _require(whole.params["padding_config"][dims[0]] == (0, 0, 0))
    return [dims[0]]


def _product(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro))
    contracted, batches = whole.params["dimension_numbers"]
    if None not in dims:
        found = [own.index(dim) if dim in own else -1 for own, dim in zip(batches, dims, strict=True)]
        _require(found[0] == found[1] != -1)
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
    _require(_alike(whole, micro) and whole.params["batch_group_count"] == 1)
    _require(dims == [numbers.lhs_spec[0], None])
    return [numbers.out_spec[0]]


def _window(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro))
    dim = _one(dims)
    for name, trivial in (("window_dimensions", 1), ("window_strides", 1), ("padding", (0, 0))):
        _require(tuple(whole.params[name])[dim] == trivial)
    for name in ("base_dilation", "window_dilation"):
        _require(tuple(whole.params[name])[dim] == 1)
    return [dim]


def _gather(whole: Any, micro: Any, dims: Dims) -> Dims:
    _require(_alike(whole, micro, "slice_sizes"))
    numbers = whole.params["dimension_numbers"]
    operand, positions = dims
    rank = len(whole.outvars[0].aval.shape)
    if positions is None:
        return [_gathered_window(whole, micro, operand)]
    if operand is not None:
        batches = (numbers.operand_batching_dims, numbers.start_indices_batching_dims)
        _require((operand, positions) in zip(*batches, strict=True))
    _require(positions < len(whole.invars[1].aval.shape) - 1)
    return [[dim for dim in range(rank) if dim not in numbers.offset_dims][positions]]


def _gathered_window(whole: Any, micro: Any, dim: int | None) -> int:
    """A dimension of the operand that is taken whole."""
    numbers = whole.params["dimension_numbers"]
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    _require(dim is not None and dim not in (*gone, *numbers.start_index_map))
    assert dim is not None
    for each in (whole, micro):
        _require(each.params["slice_sizes"][dim] == each.invars[0].aval.shape[dim])
    return int(numbers.offset_dims[_left(dim, gone)])


def _scan(whole: Any, micro: Any, dims: Dims) -> Dims:
    """Each iteration works on samples one by one, and the samples are not what it goes over."""
    a, b = whole.params, micro.params
    fixed = a["num_consts"] + a["num_carry"]
    _require(all(a[name] == b[name] for name in ("num_consts", "num_carry", "length", "reverse")))
    _require(0 not in dims[fixed:])
    inner = _body_dims(a["jaxpr"], b["jaxpr"], [*dims[:fixed], *map(_inner, dims[fixed:])])
    carried = inner[: a["num_carry"]]
    _require(carried == dims[a["num_consts"] : fixed])
    return [*carried, *(None if dim is None else dim + 1 for dim in inner[a["num_carry"] :])]


def _inner(dim: int | None) -> int | None:
    return None if dim is None else dim - 1


def _cond(whole: Any, micro: Any, dims: Dims) -> Dims:
    branches = zip(whole.params["branches"], micro.params["branches"], strict=True)
    _require(dims[0] is None)
    first, *rest = (_body_dims(*pair, dims[1:]) for pair in branches)
    _require(all(other == first for other in rest))
    return first


_Rule = Callable[[Any, Any, Dims], Dims]
_RULES: dict[str, _Rule] = {
    "broadcast_in_dim": _broadcast,
    "clamp": _select,
    "concatenate": _along("dimension"),
    "cond": _cond,
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
    "scan": _scan,
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
