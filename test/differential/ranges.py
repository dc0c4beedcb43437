"""What a right plan may compute, for each element of a float program: an interval, and whether it is NaN.

Plans compute the same as the program up to rounding. An interval holds the result of every way to compute an
element that a plan may take:

- each op rounds to its type, or to a wider one (16 bits are computed in f32), or not at all (fma);
- sums are added up in any order; pending ones, in any split into addends, pass ops that are linear in them,
  so each rounding there is one of the addends: `up` and `down` are the sums of the positive and of the
  negative ones, which roundings are relative to;
- denormals count as zeros or as what they are, as operands and as results, since worker threads flush them;
- where addends may overflow, the sum may be infinite though it is small, and NaN if they may do so in both
  directions; likewise a sum that is multiplied by an infinity, as an addend may be zero or of another sign;
- a comparison of what may be equal has either outcome, and what is selected by it is of either side.

What only moves stays exact; so do integers that fit the type. A rounding counts as one unit in the last
place, twice what it may do: room for a second one (integers to f32 to 16 bits) and for f64, in which all is
computed. A zero may have either sign. Integers and booleans are exact, or anything where they depend on such
a comparison.

Reference: Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensors import is_float

Array = np.ndarray[Any, Any]

NEVER, MAYBE, ALWAYS = 0, 1, 2  # NaN
RANGE = np.dtype(
    [
        ("low", np.float64),  # the interval; what is always NaN has [0, 0]
        ("high", np.float64),
        ("nan", np.int8),
        ("up", np.float64),  # the magnitudes of addends, of what is finite, by sign
        ("down", np.float64),
        ("sum", np.bool_),  # may be a pending sum
    ]
)


@dataclass(frozen=True)
class Format:
    """A float type: a unit in the last place of 1, the largest number, what may become zero, the least step.

    f16 is computed in f32, where its denormals are none: they are rounded, never flushed.
    """

    unit: float
    largest: float
    flushed: float
    step: float


FORMATS = {
    "bf16": Format(2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-126),
    "f16": Format(2.0**-10, 65504.0, 0.0, 2.0**-24),
    "f32": Format(2.0**-23, float(np.finfo(np.float32).max), 2.0**-126, 2.0**-126),
    "f64": Format(2.0**-52, float(np.finfo(np.float64).max), 2.0**-1022, 2.0**-1022),
}
OWN_UNIT = 2.0**-51  # of the ends of intervals, which are f64


# Making ranges


def pack(low: Any, high: Any, nan: Any = NEVER, sizes: Any = None, is_sum: Any = False) -> Array:
    """Ranges of these parts, broadcast; without `sizes`, up and down, they are of no addends but
    themselves."""
    low, high, nan = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64), nan)
    made = np.zeros(low.shape, RANGE)
    low, high = np.where(nan == ALWAYS, 0, low), np.where(nan == ALWAYS, 0, high)
    made["low"], made["high"], made["nan"], made["sum"] = low, high, nan, is_sum
    made["up"], made["down"] = (_get_size(high, low), _get_size(-low, -high)) if sizes is None else sizes
    return made


def _get_size(high: Array, low: Array) -> Array:
    """What is positive of it and finite, where it may be infinite what is so at least."""
    return np.maximum(np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0)), 0)


def make_exact(array: Array) -> Array:
    """Numbers as they are."""
    numbers = np.asarray(array, np.float64)
    nan = np.isnan(numbers)
    numbers = np.where(nan, 0, numbers)
    return pack(numbers, numbers, np.where(nan, ALWAYS, NEVER))


def make_anything(shape: tuple[int, ...], element: str) -> Array:
    if element == "i1":
        return pack(np.zeros(shape), 1.0)
    return pack(np.full(shape, -np.inf), np.inf, MAYBE)


def is_exact(ranges: Array) -> Array:
    """Which are one number."""
    return (ranges["low"] == ranges["high"]) & (ranges["nan"] == NEVER)


def is_zero(ranges: Array) -> Array:
    return is_exact(ranges) & (ranges["low"] == 0)


def is_finite(ranges: Array) -> Array:
    """Which certainly are."""
    return (ranges["nan"] == NEVER) & ~_is_infinite(ranges)


def contains(ranges: Array, found: Array) -> Array:
    """Which elements a right plan may compute."""
    numbers = found.astype(np.float64)
    nan = np.isnan(numbers)
    inside = (ranges["low"] <= numbers) & (numbers <= ranges["high"]) & (ranges["nan"] != ALWAYS)
    return np.where(nan, ranges["nan"] != NEVER, inside)


# Rounding


def round_to(ranges: Array, element: str, roundings: Any = 1, units: float = 1) -> Array:
    """What an op of that type, or so many one behind the other, makes of exact results; its errors of
    `units`.

    Integers that fit are exact, if all they are made of is: then no order rounds.
    """
    form = FORMATS[element]
    low, high, size = ranges["low"], ranges["high"], ranges["up"] + ranges["down"]
    whole = is_exact(ranges) & (low == np.rint(low)) & (size == np.rint(size)) & (size <= 2 / form.unit)
    exact = (whole & (units == 1)) | (size == 0)
    width = roundings * (units * (form.unit + OWN_UNIT) * size + form.step)
    width = np.where(exact, 0, np.minimum(width, np.finfo(np.float64).max))
    return _overflow(ranges, low - width, high + width, form.largest)


def _overflow(ranges: Array, low: Array, high: Array, largest: float) -> Array:
    """What exceeds the type is an infinity, or still the number; so are sums of which addends may exceed
    it."""
    up, down = (ranges[name] * (1 + 2.0**-7) > largest for name in ("up", "down"))
    made = ranges.copy()
    always = ranges["nan"] == ALWAYS
    made["high"] = np.where(always, 0, np.where(up, np.inf, high))
    made["low"] = np.where(always, 0, np.where(down, -np.inf, low))
    infinite = up & (ranges["low"] == -np.inf), down & (ranges["high"] == np.inf), up & down
    made["nan"] = np.where(np.logical_or.reduce(infinite), np.maximum(ranges["nan"], MAYBE), ranges["nan"])
    return made


def flush(ranges: Array, element: str) -> Array:
    """Operands of that type as ops may see them: denormals may be zeros."""
    least = FORMATS[element].flushed
    low, high = ranges["low"], ranges["high"]
    made = ranges.copy()
    made["low"] = np.where((low > 0) & (low < least), 0, low)
    made["high"] = np.where((high < 0) & (high > -least), 0, high)
    return made


def tie(ranges: Array, element: str) -> Array:
    """What a sort may take for each number of that type: denormals and zeros may be equal to it."""
    least = FORMATS[element].flushed
    made = ranges.copy()
    made["low"] = np.where(np.abs(ranges["low"]) < least, -least, ranges["low"])
    made["high"] = np.where(np.abs(ranges["high"]) < least, least, ranges["high"])
    return made


def complete(ranges: Array) -> Array:
    """The same as no pending sums."""
    return pack(ranges["low"], ranges["high"], ranges["nan"])


# Arithmetic, before rounding


def _is_infinite(ranges: Array) -> Array:
    return np.isinf(ranges["low"]) | np.isinf(ranges["high"])


def _any_nan(*ranges: Array) -> Array:
    """Of an op whose result is NaN where an operand is."""
    nan = np.broadcast_arrays(*(each["nan"] for each in ranges))
    return np.asarray(np.maximum.reduce(nan))


def _keep_finite(made: Array, a: Array, b: Array, end: str) -> Array:
    """An end that exceeds f64, though no operand is infinite, is the largest number from inside of the
    interval: a plan may not round it (fma)."""
    overflows = np.isinf(made) & np.isfinite(a) & np.isfinite(b)
    most = np.finfo(np.float64).max
    return np.where(overflows, np.minimum(made, most) if end == "low" else np.maximum(made, -most), made)


def negate(a: Array) -> Array:
    return pack(-a["high"], -a["low"], a["nan"], (a["down"], a["up"]), a["sum"])


def add(a: Array, b: Array) -> Array:
    low, high = (_keep_finite(a[end] + b[end], a[end], b[end], end) for end in ("low", "high"))
    nan = _any_nan(a, b)
    # An end that is NaN is one of opposite infinities: what is left of the interval is the certain one.
    impossible = np.isnan(low) & np.isnan(high)
    opposite = ((a["low"] == -np.inf) & (b["high"] == np.inf)) | (
        (a["high"] == np.inf) & (b["low"] == -np.inf)
    )
    nan = np.where(impossible, ALWAYS, np.where(opposite, np.maximum(nan, MAYBE), nan))
    low, high = np.where(np.isnan(low), np.inf, low), np.where(np.isnan(high), -np.inf, high)
    return pack(low, high, nan, (a["up"] + b["up"], a["down"] + b["down"]), a["sum"] | b["sum"])


def subtract(a: Array, b: Array) -> Array:
    return add(a, negate(b))


def multiply(a: Array, b: Array) -> Array:
    pairs = [(a[i], b[j]) for i in ("low", "high") for j in ("low", "high")]
    ends = [np.where(np.isnan(x * y), 0, x * y) for x, y in pairs]  # 0 times an infinite end
    low, high = (
        reduce([_keep_finite(made, *pair, end) for made, pair in zip(ends, pairs, strict=True)])
        for reduce, end in ((np.minimum.reduce, "low"), (np.maximum.reduce, "high"))
    )
    nan = _any_nan(a, b)
    zero, infinite = ([_holds_zero(x) for x in (a, b)], [_is_infinite(x) for x in (a, b)])
    undefined = (zero[0] & infinite[1]) | (infinite[0] & zero[1])
    nan = np.where(undefined, np.maximum(nan, MAYBE), nan)
    certain = [(x["low"] == x["high"]) for x in (a, b)]
    nan = np.where(undefined & certain[0] & certain[1], ALWAYS, nan)
    split = (a["sum"] & infinite[1]) | (infinite[0] & b["sum"])
    nan = np.where(split, np.maximum(nan, MAYBE), nan)
    low, high = np.where(split, -np.inf, low), np.where(split, np.inf, high)
    up = _multiply_sizes(a["up"], b["up"]) + _multiply_sizes(a["down"], b["down"])
    down = _multiply_sizes(a["up"], b["down"]) + _multiply_sizes(a["down"], b["up"])
    return pack(low, high, nan, (up, down), a["sum"] | b["sum"])


def _multiply_sizes(a: Array, b: Array) -> Array:
    """A product that vanishes in f64 is none of zeros."""
    return np.where((a > 0) & (b > 0), np.maximum(a * b, np.finfo(np.float64).tiny), 0)


def _holds_zero(a: Array) -> Array:
    return (a["low"] <= 0) & (a["high"] >= 0)


def divide(a: Array, b: Array) -> Array:
    """By what may be zero: anything, as the sign of a zero is not known."""
    zero = _holds_zero(b)
    divisor = np.where(zero, make_exact(np.ones(())), b)
    inverse = pack(1 / divisor["high"], 1 / divisor["low"], divisor["nan"])
    made = multiply(a, inverse)
    infinite = _is_infinite(a) & _is_infinite(b)  # 0 times an infinity, as a product
    undefined = zero | infinite
    both = zero & (a["low"] == 0) & (a["high"] == 0) & (b["low"] == b["high"])
    nan = np.where(both, ALWAYS, np.where(undefined, np.maximum(made["nan"], MAYBE), made["nan"]))
    low, high = np.where(zero, -np.inf, made["low"]), np.where(zero, np.inf, made["high"])
    nan = np.where(_any_nan(a, b) == ALWAYS, ALWAYS, nan)
    return pack(low, high, nan, (made["up"], made["down"]), a["sum"])


def maximum(a: Array, b: Array) -> Array:
    return pack(np.maximum(a["low"], b["low"]), np.maximum(a["high"], b["high"]), _any_nan(a, b))


def minimum(a: Array, b: Array) -> Array:
    return negate(maximum(negate(complete(a)), negate(complete(b))))


def maximum_number(a: Array, b: Array) -> Array:
    """Of a NaN and a number the number."""
    both = maximum(a, b)
    both["nan"] = NEVER
    without_a, without_b = [np.broadcast_to(complete(x), both.shape) for x in (b, a)]
    made = choose(np.broadcast_to(a["nan"], both.shape), both, without_a)
    return choose(np.broadcast_to(b["nan"], both.shape), made, without_b)


def minimum_number(a: Array, b: Array) -> Array:
    return negate(maximum_number(negate(complete(a)), negate(complete(b))))


def choose(which: Array, a: Array, b: Array) -> Array:
    """`a` where `which` is NEVER, `b` where it is ALWAYS, where it is MAYBE either of them."""
    return np.where(which == NEVER, a, np.where(which == ALWAYS, b, join(a, b)))


def join(a: Array, b: Array) -> Array:
    """Either of them."""
    low, high = np.minimum(a["low"], b["low"]), np.maximum(a["high"], b["high"])
    for one, other in ((a, b), (b, a)):
        low, high = (
            np.where(one["nan"] == ALWAYS, other[end], found) for end, found in (("low", low), ("high", high))
        )
    nan = np.where(a["nan"] == b["nan"], a["nan"], MAYBE)
    sizes = np.maximum(a["up"], b["up"]), np.maximum(a["down"], b["down"])
    return pack(low, high, nan, sizes, a["sum"] | b["sum"])


def select(condition: Array, a: Array, b: Array) -> Array:
    which = np.where(condition["low"] == 1, NEVER, np.where(condition["high"] == 0, ALWAYS, MAYBE))
    return choose(which, *np.broadcast_arrays(a, b))


def absolute(a: Array) -> Array:
    ends = np.abs(a["low"]), np.abs(a["high"])
    return pack(np.where(_holds_zero(a), 0, np.minimum(*ends)), np.maximum(*ends), a["nan"])


# Comparisons: ranges of 0 and 1


def _less(a: Array, b: Array, or_equal: bool, of_nan: bool) -> Array:
    """Whether a < b, or a <= b; `of_nan` if one of them is NaN."""
    certain = (a["high"] <= b["low"]) if or_equal else (a["high"] < b["low"])
    possible = (a["low"] <= b["high"]) if or_equal else (a["low"] < b["high"])
    return _with_nan(certain, possible, _any_nan(a, b), of_nan)


def _equal(a: Array, b: Array, is_equal: bool) -> Array:
    certain = (a["low"] == a["high"]) & (b["low"] == b["high"]) & (a["low"] == b["low"])
    possible = (a["low"] <= b["high"]) & (b["low"] <= a["high"])
    if not is_equal:
        certain, possible = ~possible, ~certain
    return _with_nan(certain, possible, _any_nan(a, b), not is_equal)


def _with_nan(certain: Array, possible: Array, nan: Array, of_nan: bool) -> Array:
    low = np.where(nan == ALWAYS, of_nan, certain & ((nan == NEVER) | of_nan))
    high = np.where(nan == ALWAYS, of_nan, possible | ((nan != NEVER) & of_nan))
    return pack(low, high)


COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "lt": lambda a, b: _less(a, b, or_equal=False, of_nan=False),
    "le": lambda a, b: _less(a, b, or_equal=True, of_nan=True),
    "gt": lambda a, b: _less(b, a, or_equal=False, of_nan=False),
    "ge": lambda a, b: _less(b, a, or_equal=True, of_nan=True),
    "eq": lambda a, b: _equal(a, b, is_equal=True),
    "ne": lambda a, b: _equal(a, b, is_equal=False),
}

# Ops whose results are rounded, and those that give one of their operands or a whole number.
ROUNDED: dict[str, Callable[..., Array]] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "divide": divide,
    "fma": lambda a, b, c: add(multiply(a, b), c),
}


def choose_denormals(made: Array, operands: Sequence[Array], element: str) -> Array:
    """The largest or least of numbers of that type, as `made` says it. Of denormals and zeros, which may be
    equal to ops, it may be any."""
    least = FORMATS[element].flushed
    operands = np.broadcast_arrays(*operands)
    near = np.logical_and.reduce([(each["low"] < least) & (each["high"] > -least) for each in operands])
    low, high = ([np.clip(each[end], -least, least) for each in operands] for end in ("low", "high"))
    chosen = made.copy()
    chosen["low"] = np.where(near, np.minimum.reduce([made["low"], *low]), made["low"])
    chosen["high"] = np.where(near, np.maximum.reduce([made["high"], *high]), made["high"])
    return chosen


EXTREMES = ("max", "min", "maxnum", "minnum")
UNROUNDED: dict[str, Callable[..., Array]] = {
    "max": maximum,
    "min": minimum,
    "maxnum": maximum_number,
    "minnum": minimum_number,
    "abs": absolute,
    "neg": negate,
    "ceil": lambda a: pack(np.ceil(a["low"]), np.ceil(a["high"]), a["nan"]),
    "floor": lambda a: pack(np.floor(a["low"]), np.floor(a["high"]), a["nan"]),
    "roundeven": lambda a: pack(np.rint(a["low"]), np.rint(a["high"]), a["nan"]),
}


def convert(a: Array, source: str, target: str) -> Array:
    """As another type. Floats become no integers: what is not one, or too large, has no meaning there."""
    if not is_float(target):
        assert not is_float(source), "a float becomes an integer"
        return a
    if not is_float(source):
        unknown = ~is_exact(a) & (source != "i1")
        numbers = pack(a["low"], a["high"])
        return np.where(unknown, make_anything((), target), round_to(numbers, target))
    a, narrow, wide = flush(a, source), FORMATS[source], FORMATS[target]
    widens = narrow.unit >= wide.unit and narrow.largest <= wide.largest
    return a if widens else round_to(complete(a), target)
