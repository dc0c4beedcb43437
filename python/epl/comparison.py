"""Compares the results of a plan with those of its reference, or of another call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import ArgumentError
from epl.processes.gathering import is_divided, numbers_of, own_parts
from epl.processes.group import current
from epl.signature import is_key

RowSums = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
Measure = tuple[float, float]  # largest difference, and largest magnitude of what is expected


@dataclass(frozen=True)
class Difference:
    """Largest absolute difference of a result, and largest magnitude (`scale`) of its reference."""

    name: str
    largest: float
    scale: float
    passes: bool

    def __str__(self) -> str:
        verdict = "" if self.passes else "  beyond tolerance"
        return f"{self.name}: differs by {self.largest:.3g} of {self.scale:.3g}{verdict}"


class Rehearsed(NamedTuple):
    """What a step gives if it is only tried.

    results: as a call returns them. rows: for the tables that it trains, by name, the ids that it has looked
    up, each once, with the sums of the gradients for these.
    """

    results: Any
    rows: dict[str, RowSums]

    @property
    def compared(self) -> Any:
        """The tree of which `Compiled._compare` takes the leaves."""
        return self.results, [sums for _, (_, sums) in sorted(self.rows.items())]


@dataclass(frozen=True)
class CheckReport:
    """The differences of all results; printed, the largest first."""

    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        ordered = sorted(self.differences, key=lambda d: (d.passes, -d.largest / (d.scale or 1.0)))
        return "\n".join(map(str, ordered[:10]))


def compare(name: str, found: Any, expected: Any, *, rtol: float, atol: float) -> Difference:
    """The difference of two arrays of one shape and dtype, judged by the tolerances of `Compiled.check`."""
    return _judge(name, found.dtype, _measure(found, expected), rtol, atol)


def check_tolerance(name: str, value: Any) -> None:
    """Raises ArgumentError for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ArgumentError(f"{name} must be a finite number of at least 0, found {value!r}")


def compare_runs(
    names: Sequence[str], found: Sequence[Any], expected: Sequence[Any], *, rtol: float, atol: float
) -> list[Difference]:
    """The differences of the results of two calls of one plan; called by all processes that make the calls.

    Of a result that is in parts each process compares those that it has, and all have the same verdict.

    Raises:
      ProcessError: if a process is lost.
    """
    found, expected = (list(map(numbers_of, values)) for values in (found, expected))
    measured = [_measure_here(*pair) for pair in zip(found, expected, strict=True)]
    group = current()
    if group is not None and any(map(is_divided, found)):
        said = group.share(measured, "a comparison of results")
        measured = [(gap, scale) for gap, scale in np.max(said, axis=0)]
    values = zip(names, found, measured, strict=True)
    return [_judge(name, value.dtype, measure, rtol, atol) for name, value, measure in values]


def compare_rows(
    found: Mapping[str, RowSums], expected: Mapping[str, RowSums], *, rtol: float, atol: float
) -> list[Difference]:
    """The differences of the gradients of tables, as `Rehearsed` has them; an id that one lacks has zeros."""
    differences = []
    for name, both in ((name, (rows, expected[name])) for name, rows in found.items()):
        ids = np.union1d(both[0][0], both[1][0])
        full = [np.zeros((len(ids), *sums.shape[1:]), sums.dtype) for _, sums in both]
        for target, (own, sums) in zip(full, both, strict=True):
            target[np.searchsorted(ids, own)] = sums
        differences.append(compare(gradient_of(name), *full, rtol=rtol, atol=atol))
    return differences


def gradient_of(table: str) -> str:
    """What the gradients of a table are called in a comparison."""
    return f"gradient of table {table}"


def _judge(name: str, dtype: Any, measured: Measure, rtol: float, atol: float) -> Difference:
    largest, scale = measured
    exact = not jnp.issubdtype(dtype, jnp.floating)
    return Difference(name, largest, scale, largest <= (0.0 if exact else atol + rtol * scale))


def _measure(found: Any, expected: Any) -> Measure:
    if is_key(found.dtype):
        found, expected = jax.random.key_data(found), jax.random.key_data(expected)
    a, b = (np.asarray(value, np.float64) for value in (found, expected))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    gap = np.abs(np.where(same, 0.0, a) - np.where(same, 0.0, b))
    finite = np.abs(b[np.isfinite(b)])
    return float(gap.max(initial=0.0)), float(finite.max(initial=0.0))


def _measure_here(found: Any, expected: Any) -> Measure:
    """The same of what this process has."""
    if not is_divided(found):
        return _measure(found, expected)
    pairs = zip(own_parts(found), own_parts(expected), strict=True)
    measured = [_measure(one, two) for (_, one), (_, two) in pairs]
    gap, scale = np.max([(0.0, 0.0), *measured], axis=0)  # a NaN is the largest
    return float(gap), float(scale)
