"""The paths of arrays in trees, as checkpoints have them: names and numbers, whatever the containers are.

And whether two trees have the same arrays at the same paths.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

Path = tuple[str, ...]

_SHOWN = 3  # of what differs


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


def differences(name: str, expected: Any, found: Any) -> str:
    """In what a tree differs from that of the state `name`; empty if in nothing.

    Leaves are what has a shape and perhaps a dtype. Containers may be others, if they name the same.
    """
    one, other = _leaves(name, expected), _leaves(name, found)
    problems = [
        f"{path}: expected {_kind(one.get(path))}, found {_kind(other.get(path))}"
        for path in {**one, **other}
        if not _fits(one.get(path), other.get(path))
    ]
    more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


def _leaves(name: str, tree: Any) -> dict[str, Any]:
    return {path_text((name, *names(path))): leaf for path, leaf in jax.tree.flatten_with_path(tree)[0]}


def _fits(expected: Any, found: Any) -> bool:
    if expected is None or found is None or expected.shape != np.shape(found):
        return False
    return bool(getattr(found, "dtype", expected.dtype) == expected.dtype)


def _kind(leaf: Any) -> str:
    if leaf is None:
        return "nothing"
    return f"{getattr(leaf, 'dtype', type(leaf).__name__)}[{','.join(map(str, np.shape(leaf)))}]"
