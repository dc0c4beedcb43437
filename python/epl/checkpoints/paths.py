"""The paths of arrays in trees, as checkpoints have them: names and numbers, whatever the containers are."""

from __future__ import annotations

from typing import Any

Path = tuple[str, ...]


def names(path: tuple[Any, ...]) -> Path:
    """A path of JAX's as names; what adds no name to a path is left out."""
    return tuple(filter(None, (_name(key) for key in path)))


def _name(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def path_text(path: Path) -> str:
    """As users write it: `params.layer0.w`."""
    return ".".join(path)
