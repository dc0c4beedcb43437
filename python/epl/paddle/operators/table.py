"""The table of ops, and what their functions share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

Attributes = Mapping[str, Any]
Outputs = dict[str, list[Any]]


class Exchanging(Protocol):
    """One of several devices that run a program."""

    def sum(self, value: Any) -> Any:
        """The sum over the devices."""

    def pick(self, value: Any, number: int) -> Any:
        """The value of one of them."""


class Inputs(dict[str, list[Any]]):
    """The values of an op's inputs, by the names that the op has for them, and what else it may ask for.

    Args:
      key: gives the op's key, or raises ArgumentError where the program was given none.
      real: by input whose value is padded, the dimension that has rows, and how many elements there are real.
      device: which one of several this is, for ops that exchange values with the others.
    """

    def __init__(
        self,
        values: Mapping[str, list[Any]],
        key: Callable[[], Any],
        real: Mapping[str, tuple[int, Any]] | None = None,
        device: Exchanging | None = None,
    ) -> None:
        super().__init__(values)
        self.key = key
        self._real = real or {}
        self._device = device

    def with_values(self, values: Mapping[str, list[Any]]) -> Inputs:
        """Others of the same op; those that are padded have the names of before."""
        return Inputs(values, self.key, self._real, self._device)

    def one(self, name: str) -> Any:
        """The only value of an input."""
        (value,) = self[name]
        return value

    def maybe(self, name: str) -> Any:
        """The same, None where the op has no such input."""
        return self.one(name) if self.get(name) else None

    def is_padded(self, name: str) -> bool:
        """Whether a value has rows that are padding."""
        return name in self._real

    def extent(self, name: str, *dims: int) -> Any:
        """How many real elements a value has along dimensions; of a padded one it is known when it runs."""
        shape = list(self.one(name).shape)
        if self.is_padded(name):
            dim, count = self._real[name]
            shape[dim] = count
        return math.prod(shape[dim] for dim in dims)

    def across(self, value: Any) -> Any:
        """The sum of a value over the devices; the value itself if the op is its device's alone."""
        return value if self._device is None else self._device.sum(value)

    def of_device(self, value: Any, number: int) -> Any:
        """The value of the device of a number; the value itself if the op is its device's alone."""
        return value if self._device is None else self._device.pick(value, number)


Operator = Callable[[Inputs, Attributes], Outputs]

TABLE: dict[str, Operator] = {}


def operator(*kinds: str) -> Callable[[Operator], Operator]:
    """Enters a function into the table."""

    def enter(function: Operator) -> Operator:
        TABLE.update(dict.fromkeys(kinds, function))
        return function

    return enter


def out(value: Any) -> Outputs:
    """The outputs of an op that has one, by its usual name."""
    return {"Out": [value]}


def reshaping(value: Any, source: Any) -> Outputs:
    """Those of an op that says what the shape was, for its gradient."""
    return {"Out": [value], "XShape": [source]}
