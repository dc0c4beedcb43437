"""Which results of a step are in a collection (`epl.add_to_collection`).

Problem: what a step adds to a collection within `grad`, `vmap` or an inner `jit` is another Python object
than what the step returns of it.
Method: a marker (`markers.py`) marks the value in the jaxpr. There a result is in a collection if it is the
marked variable, calls looked through. Lowered it is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jax.extend.core import Literal

from epl.adapters.jax import hooks, jaxprs
from epl.adapters.jax.markers import marker
from epl.errors import ArgumentError, Place

_primitive = marker("epl_collect")


@dataclass(frozen=True)
class Collected:
    """The collection that a value is in, and the user's line that says so."""

    key: str
    place: Place | None


def mark(value: Any, key: str) -> None:
    """Marks an array of the step that is traced as one of a collection."""
    _primitive.bind(value, key=key)


def find(jaxpr: Any) -> list[Collected | None]:
    """Of each result of a jaxpr, the collection that it is in.

    Raises:
      ArgumentError: for a value in two collections.
    """
    known: dict[Any, Collected] = {}
    for equation in jaxpr.eqns:
        for variable, collected in _marks(equation):
            if isinstance(variable, Literal):
                continue
            first = known.setdefault(variable, collected)
            if first.key != collected.key:
                raise ArgumentError(
                    f'{collected.place}: a value is in two collections, "{first.key}" ({first.place}) and '
                    f'"{collected.key}": expected one, which says how it is merged'
                )
    return [None if isinstance(out, Literal) else known.get(out) for out in jaxpr.outvars]


def _marks(equation: Any) -> Iterator[tuple[Any, Collected]]:
    """Variables that an equation marks, or what it calls."""
    if equation.primitive is _primitive:
        yield equation.invars[0], Collected(equation.params["key"], hooks.place(equation))
    elif (called := jaxprs.called(equation)) is not None:
        ends = [*called.jaxpr.invars, *called.jaxpr.outvars]
        found = find(called.jaxpr.replace(outvars=ends))
        for variable, collected in zip([*equation.invars, *equation.outvars], found, strict=True):
            if collected is not None:
                yield variable, collected
