"""Compares the results of a plan with those of its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.signature import is_key


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


@dataclass(frozen=True)
class CheckReport:
    """The differences of all results; printed, the largest first."""

    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        ordered = sorted(self.differences, key=lambda d: (d.passes, -d.largest / (d.scale or 1.0)))
        return "\n".join(map(str, ordered[:10]))


def compare(name: str, found: Any, expected: Any, *, rtol: float, atol: float) -> Difference:
    """The difference of two arrays of one shape and dtype, judged by the tolerances of `Compiled.check`."""
    if is_key(found.dtype):
        found, expected = jax.random.key_data(found), jax.random.key_data(expected)
    a, b = (np.asarray(value, np.float64) for value in (found, expected))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    gap = np.abs(np.where(same, 0.0, a) - np.where(same, 0.0, b))
    finite = np.abs(b[np.isfinite(b)])
    scale, largest = float(finite.max(initial=0.0)), float(gap.max(initial=0.0))
    exact = not jnp.issubdtype(found.dtype, jnp.floating)
    return Difference(name, largest, scale, largest <= (0.0 if exact else atol + rtol * scale))
