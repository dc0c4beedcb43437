"""Functions of ranges, with the errors that kernels may make, and reductions of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ranges import (
    ALWAYS,
    FORMATS,
    MAYBE,
    NEVER,
    Array,
    complete,
    flush,
    is_exact,
    make_anything,
    make_exact,
    multiply,
    negate,
    pack,
    round_to,
)
from tensors import get_width, is_float


@dataclass(frozen=True)
class Function:
    """A function that grows or falls on [least, infinity], NaN below, and units in the last place that
    kernels may be off: what test/unit/kernel/cpu/MathTest.cpp allows."""

    compute: Callable[[Any], Any]
    units: int
    least: float = -np.inf

    def apply(self, a: Array) -> Array:
        """Before rounding. What is rounded to 0 from below may be a zero of that sign, which `least` is
        not."""
        with np.errstate(all="ignore"):
            ends = [self.compute(np.maximum(a[end], self.least)) for end in ("low", "high")]
        below, partly = a["high"] < self.least, a["low"] < self.least
        nan = np.where(below, ALWAYS, np.where(partly, np.maximum(a["nan"], MAYBE), a["nan"]))
        nan = np.where(a["nan"] == ALWAYS, ALWAYS, nan)
        return pack(np.minimum(*ends), np.maximum(*ends), nan)


def _wave(compute: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """Sine or cosine: their slope is at most 1."""

    def apply(a: Array) -> Array:
        infinite = np.isinf(a["low"]) | np.isinf(a["high"])
        low, high = (np.where(infinite, 0, a[end]) for end in ("low", "high"))
        middle = compute(np.where(low == high, low, low / 2 + high / 2))
        half = np.where(low == high, 0, np.maximum(high / 2 - low / 2, FORMATS["f64"].step))
        nan = np.where(infinite, np.where(is_exact(a), ALWAYS, np.maximum(a["nan"], MAYBE)), a["nan"])
        ends = np.maximum(middle - half, -1), np.minimum(middle + half, 1)
        return pack(np.where(infinite, -1, ends[0]), np.where(infinite, 1, ends[1]), nan)

    return apply


def _inverse_root(a: Array) -> Array:
    """Of what may be a zero, whose sign is not known, an infinity of either sign."""
    made = Function(lambda x: 1 / np.sqrt(x), 2, 0.0).apply(a)
    zero = (a["low"] <= 0) & (a["high"] >= 0)
    return pack(np.where(zero, -np.inf, made["low"]), np.where(zero, np.inf, made["high"]), made["nan"])


_FUNCTIONS = {
    "exp": Function(np.exp, 2),
    "expm1": Function(np.expm1, 6),
    "log": Function(np.log, 2, 0.0),
    "log1p": Function(np.log1p, 4, -1.0),
    "tanh": Function(np.tanh, 8),
    "erf": Function(np.vectorize(math.erf, otypes=[np.float64]), 8),
    "atan": Function(np.arctan, 4),
    "sqrt": Function(np.sqrt, 1, 0.0),
}
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], int]] = {
    **{name: (function.apply, function.units) for name, function in _FUNCTIONS.items()},
    "sin": (_wave(np.sin), 2),
    "cos": (_wave(np.cos), 2),
    "rsqrt": (_inverse_root, 2),
}


def apply_function(name: str, a: Array, element: str) -> Array:
    """The function as a kernel computes it: in f32 if the type has 16 bits, then rounded."""
    compute, units = FUNCTIONS[name]
    made = compute(flush(a, element))
    computed = element if get_width(element) > 16 else "f32"
    made = round_to(made, computed, units=units)
    return made if computed == element else round_to(complete(made), element)


# Reductions

# Sums of 16 bits are carried in f32 and rounded once: in each rank, and where those of ranks are added up.
MOST_RANKS = 8


def reduce_range(
    kind: str, a: Array, axes: tuple[int, ...], element: str, start: Array | None = None, widens: bool = True
) -> Array:
    """A reduction of a space of numbers along axes, from `start` or from what changes nothing. `widens`:
    sums of 16 bits are carried in f32."""
    if start is not None:  # one more of them
        rows = _list_rows(a, axes)
        a, axes = np.concatenate([rows, np.broadcast_to(start, rows.shape[1:])[None]]), (0,)
    if not is_float(element):
        return _reduce_integers(kind, a, axes)
    a = flush(a, element)
    if kind == "sum":
        return _sum(a, axes, element, widens)
    return {"prod": _multiply_all, "max": _get_maximum, "min": _get_minimum}[kind](a, axes, element)


def _list_rows(a: Array, axes: tuple[int, ...]) -> Array:
    """The same with all axes as the first one."""
    rest = [axis for axis in range(a.ndim) if axis not in axes]
    count = math.prod(a.shape[axis] for axis in axes)
    return np.transpose(a, (*axes, *rest)).reshape(count, *(a.shape[axis] for axis in rest))


def _reduce_integers(kind: str, a: Array, axes: tuple[int, ...]) -> Array:
    """Exact, or unknown where an element is."""
    from nest import REDUCTIONS

    _, combine, neutral = REDUCTIONS[kind]
    is_bool = kind in ("or", "and", "xor") and np.all(a["low"] >= 0) and np.all(a["high"] <= 1)
    neutral = neutral & 1 if is_bool else neutral
    numbers = np.where(is_exact(a), a["low"], 0).astype(np.int64)
    made = make_exact(combine.reduce(numbers, axis=axes, initial=neutral))
    unknown = ~is_exact(a).all(axis=axes)
    return np.where(unknown, make_anything((), "i1" if is_bool else "i64"), made)


def _sum(a: Array, axes: tuple[int, ...], element: str, widens: bool) -> Array:
    low, high = a["low"], a["high"]
    most = np.finfo(np.float64).max
    finite = [np.where(np.isinf(end), 0, end).sum(axis=axes) for end in (low, high)]
    finite = [np.minimum(finite[0], most), np.maximum(finite[1], -most)]  # f64 may not round them (fma)
    up, down = ((end == infinity).any(axis=axes) for end, infinity in ((high, np.inf), (low, -np.inf)))
    surely_up, surely_down = ((low == np.inf).any(axis=axes), (high == -np.inf).any(axis=axes))
    nan = a["nan"].max(axis=axes, initial=NEVER)
    nan = np.where(up & down, np.maximum(nan, MAYBE), nan)
    nan = np.where(surely_up & surely_down, ALWAYS, nan)
    ends = (
        np.where(surely_up, np.inf, np.where(down, -np.inf, finite[0])),
        np.where(surely_down, -np.inf, np.where(up, np.inf, finite[1])),
    )
    total = pack(*ends, nan, (a["up"].sum(axis=axes), a["down"].sum(axis=axes)), is_sum=True)
    count = math.prod(a.shape[axis] for axis in axes)
    if not widens or get_width(element) > 16:
        return round_to(total, element, count)
    single = FORMATS["f32"].unit / FORMATS[element].unit
    return round_to(total, element, min(count, MOST_RANKS) + count * single)


def _multiply_all(a: Array, axes: tuple[int, ...], element: str) -> Array:
    """Products on the way may vanish or overflow, by the order."""
    form, rows = FORMATS[element], _list_rows(a, axes)
    made = np.broadcast_to(make_exact(np.ones(())), rows.shape[1:])
    least, most = np.ones(made.shape), np.ones(made.shape)
    for row in rows:
        made = multiply(made, row)
        size = np.maximum(np.abs(row["low"]), np.abs(row["high"]))
        smallest = np.where(
            (row["low"] > 0) | (row["high"] < 0), np.minimum(*map(np.abs, (row["low"], row["high"]))), 0
        )
        least, most = least * np.minimum(smallest, 1), most * np.maximum(size, 1)
    made = round_to(complete(made), element, len(rows))
    vanishes = (least < max(form.flushed, form.step)) & (made["nan"] != ALWAYS)
    overflows = (most > form.largest) & (made["nan"] != ALWAYS)
    made["low"] = np.where(vanishes, np.minimum(made["low"], 0), made["low"])
    made["high"] = np.where(vanishes, np.maximum(made["high"], 0), made["high"])
    return np.where(overflows, make_anything((), element), made)


def _get_maximum(a: Array, axes: tuple[int, ...], element: str) -> Array:
    low, high = (
        np.where(a["nan"] == ALWAYS, -np.inf, a[end]).max(axis=axes, initial=-np.inf)
        for end in ("low", "high")
    )
    return pack(low, high, a["nan"].max(axis=axes, initial=NEVER))


def _get_minimum(a: Array, axes: tuple[int, ...], element: str) -> Array:
    return negate(_get_maximum(negate(complete(a)), axes, element))


def find_extreme(kind: str, a: Array, dim: int, element: str) -> list[Array]:
    """The extreme along a dimension and where it is, of equals the first; NaNs are never better, nothing is
    if all are infinities that it starts from."""
    a = a if kind == "max" else negate(complete(a))
    rows = np.moveaxis(flush(a, element) if is_float(element) else a, dim, -1)
    certain = rows["nan"] == NEVER
    low, high = (
        np.where(certain, rows["low"], -np.inf),
        np.where(rows["nan"] == ALWAYS, -np.inf, rows["high"]),
    )
    best = low.argmax(-1)
    bound = np.take_along_axis(low, best[..., None], -1)
    places = np.arange(rows.shape[-1])
    others = places != best[..., None]
    behind = (low == high) & (high == bound) & (places > best[..., None])
    known = (~others | behind | (high < bound)).all(-1) & (low.max(-1) > -np.inf)
    nothing = high.max(-1) == -np.inf
    place = make_exact(np.where(nothing, 0, best))
    index = np.where(known | nothing, place, make_anything((), "i64"))
    value = pack(low.max(-1), high.max(-1))
    return [value if kind == "max" else negate(value), index]
