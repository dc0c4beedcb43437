"""The table of layers, by the names that they have in Fluid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from epl.values import did_you_mean

Layer = TypeVar("Layer", bound=Callable[..., Any])

LAYERS: dict[str, Callable[..., Any]] = {}


def layer(function: Layer) -> Layer:
    """Enters a function into the table; an underscore behind a name keeps Python's own name free."""
    function.__name__ = function.__name__.rstrip("_")
    LAYERS[function.__name__] = function
    return function


def missing(what: str, name: str, known: Iterable[str]) -> str:
    """Says that there is no layer, or net, of a name."""
    return (
        f'{what} "{name}"{did_you_mean(name, known)}; those of sequences of varying lengths (LoD) and of '
        "control flow are not supported"
    )
