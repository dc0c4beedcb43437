"""The table of ops, and what their functions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Attributes = Mapping[str, Any]
Outputs = dict[str, list[Any]]


class Inputs(dict[str, list[Any]]):
    """The values of an op's inputs, by the names that the op has for them, and a key of its own."""

    def __init__(self, values: Mapping[str, list[Any]], key: Callable[[], Any]) -> None:
        super().__init__(values)
        self.key = key
        """Gives the op's key. Raises ArgumentError where the program was given none."""

    def with_values(self, values: Mapping[str, list[Any]]) -> Inputs:
        """Others of the same op."""
        return Inputs(values, self.key)

    def one(self, name: str) -> Any:
        """The only value of an input."""
        (value,) = self[name]
        return value

    def maybe(self, name: str) -> Any:
        """The same, None where the op has no such input."""
        return self.one(name) if self.get(name) else None


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
