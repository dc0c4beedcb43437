"""The table of layers, by the names that they have in Fluid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Layer = TypeVar("Layer", bound=Callable[..., Any])

LAYERS: dict[str, Callable[..., Any]] = {}


def layer(function: Layer) -> Layer:
    """Enters a function into the table; an underscore behind a name keeps Python's own name free."""
    function.__name__ = function.__name__.rstrip("_")
    LAYERS[function.__name__] = function
    return function
