"""Python values that are part of a program: equal ones of one type make the same program.

`1`, `1.0` and `True` are equal, and programs that they are part of are not, as in `jax.jit`.
"""

from __future__ import annotations

from typing import Any


class StaticValue:
    """A hashable Python value, equal to others of its type and value; `nan` is equal to itself."""

    __slots__ = ("_identity", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._identity = _identify(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticValue) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return repr(self.value)


def _identify(value: Any) -> Any:
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, (tuple, frozenset)):
        inner = map(_identify, value)
        return type(value), tuple(inner) if isinstance(value, tuple) else frozenset(inner)
    return type(value), value
