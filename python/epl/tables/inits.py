"""How new rows of tables begin: `epl.uniform`, `epl.normal`, `epl.constant`, `epl.zeros`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from epl.errors import ArgumentError


@dataclass(frozen=True)
class Init:
    """How the elements of a new row begin: what `epl.uniform`, `normal`, `constant` and `zeros` give."""

    kind: Literal["zeros", "constant", "uniform", "normal"]
    scale: float


def uniform(scale: float) -> Init:
    """New rows of an `epl.Table` have elements drawn evenly from -scale to scale.

    Raises:
      ArgumentError: if that is no finite number of at least 0.
    """
    return Init("uniform", _number("scale of epl.uniform", scale, least=0.0))


def normal(stddev: float) -> Init:
    """New rows of an `epl.Table` have elements of a normal distribution around 0.

    Raises:
      ArgumentError: if `stddev` is no finite number of at least 0.
    """
    return Init("normal", _number("stddev of epl.normal", stddev, least=0.0))


def constant(value: float) -> Init:
    """New rows of an `epl.Table` have this value everywhere.

    Raises:
      ArgumentError: if it is no finite number.
    """
    return Init("constant", _number("value of epl.constant", value, least=-math.inf))


def zeros() -> Init:
    """New rows of an `epl.Table` are zeros."""
    return Init("zeros", 0.0)


def _number(what: str, value: Any, least: float) -> float:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < least:
        more = f" of at least {least:g}" if math.isfinite(least) else ""
        raise ArgumentError(f"{what} must be a finite number{more}, found {value!r}")
    return float(value)
