"""Inputs of programs on floats, and the comparison of results with what a right plan may compute."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from ranges import ALWAYS, FORMATS, MAYBE, NEVER, Array, contains, is_exact
from tensors import DTYPES

# By the kind of a program: of how many arrays a share of the elements is special, and how large that is.
SHARES = {"ordinary": (0.0, 0.0), "special": (0.6, 0.05)}
MOST = 3.0  # the magnitude of other elements; what the generator's bounds are for


def make_floats(
    shape: tuple[int, ...], element: str, kind: str, numbers: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Numbers of that type, of which some are special."""
    made = numbers.uniform(-MOST, MOST, shape).astype(DTYPES[element])
    arrays, elements = SHARES[kind]
    if numbers.random() < arrays:
        special = _get_special(element)
        where = numbers.random(shape) < elements
        made = np.where(where, numbers.choice(special, shape), made)
    return made


def _get_special(element: str) -> np.ndarray[Any, Any]:
    """NaN, infinities, zeros, denormals, the least and the largest numbers."""
    form = FORMATS[element]
    least = 2.0**-14 if element == "f16" else form.flushed  # that is no denormal
    positive = np.array([np.inf, 0.0, least * form.unit, least / 2, least, form.largest])
    return np.array([np.nan, *positive, *-positive]).astype(DTYPES[element])


def find_difference(found: Array, expected: Array) -> str:
    """An element that no right plan computes, if there is one."""
    wrong = np.argwhere(~contains(expected, found))
    if len(wrong) == 0:
        return ""
    at = tuple(int(i) for i in wrong[0])
    which = f"{len(wrong)} of {found.size} elements, the first of them {list(at)}"
    return f"{which}: expected {_describe(expected[at])}, found {float(found[at])!r}"


def _describe(element: Any) -> str:
    if element["nan"] == ALWAYS:
        return "NaN"
    low, high = float(element["low"]), float(element["high"])
    said = f"{low!r}" if low == high else f"{low!r} to {high!r}"
    return said + (" or NaN" if element["nan"] == MAYBE else "")


def count_tolerances(expected: list[Array]) -> Counter[str]:
    """How closely elements are compared: a reader sees that they are."""
    counts: Counter[str] = Counter()
    for ranges in expected:
        with np.errstate(all="ignore"):
            middle = np.abs(ranges["high"] + ranges["low"]) / 2
            width = np.nan_to_num((ranges["high"] - ranges["low"]) / np.maximum(middle, 1e-30), nan=np.inf)
        bounded = (ranges["nan"] == NEVER) & ~is_exact(ranges)
        counts["exact"] += int(is_exact(ranges).sum())
        counts["NaN"] += int((ranges["nan"] == ALWAYS).sum())
        for limit, below in ((1e-5, 0.0), (1e-3, 1e-5), (1e-1, 1e-3), (np.inf, 1e-1)):
            name = f"within {limit:g}" if limit < np.inf else "wider"
            counts[name] += int((bounded & (width <= limit) & (width > below)).sum())
        counts["perhaps NaN"] += int((ranges["nan"] == MAYBE).sum())
    return counts
