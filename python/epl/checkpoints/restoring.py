"""What of a checkpoint goes where in the user's tree, and whether it fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import hooks
from epl.array import Array
from epl.calling import in_memory
from epl.checkpoints.layout import Held, layout_like
from epl.checkpoints.paths import names, path_text
from epl.checkpoints.tables import SavedTable, TableLeaf
from epl.errors import ArgumentError, StateError
from epl.signature import is_key
from epl.values import did_you_mean

_SHOWN = 3  # of what does not fit


class Kind(NamedTuple):
    """Shape and type of elements on disk; the dtype is None for a Python number."""

    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        return f"{self.dtype or 'number'}[{','.join(map(str, self.shape))}]"


AnyKind = Kind | SavedTable
"""Of an array, or of a table."""


def wanted(leaf: Any) -> Any:
    """A leaf of the user's tree as what is restored: an `epl.Array` as the layout that it has."""
    if isinstance(leaf, Array):
        return layout_like(leaf)
    if isinstance(leaf, hooks.KEY_TYPE) and isinstance(leaf._base_array, Array):
        return layout_like(leaf._base_array, leaf.dtype)
    return leaf


def kind_of(leaf: Any) -> AnyKind:
    """What must be on disk for a leaf."""
    if isinstance(leaf, TableLeaf):
        return leaf.kind
    held = getattr(leaf, "sharding", None)
    if isinstance(held, Held):
        return Kind(held.shape, held.dtype)
    if is_key(getattr(leaf, "dtype", None)):
        data = in_memory(leaf)
        return Kind(data.shape, data.dtype)
    dtype = getattr(leaf, "dtype", None)
    return Kind(np.shape(leaf), None if dtype is None else jnp.dtype(dtype))


def match(
    place: str,
    layout: Any,
    saved: Mapping[str, AnyKind],
    only: str | Iterable[str] | None,
    rename: Mapping[str, str] | None,
) -> dict[str, str]:
    """The path on disk of each leaf of `layout` that is to be read, by its own path.

    Args:
      place: of the checkpoint, for messages.
      saved: what is there, by path.

    Raises:
      ArgumentError, StateError: as `Checkpoints.restore` says.
    """
    kinds = {path_text(names(path)): kind_of(leaf) for path, leaf in jax.tree.flatten_with_path(layout)[0]}
    chosen = _chosen(kinds, only)
    sources = _renamed(chosen, kinds, rename or {})
    problems = [
        _problem(path, kinds[path], source, saved)
        for path, source in sources.items()
        if not _fits(kinds[path], saved.get(source))
    ]
    if only is None:
        problems += [
            f'"{path}" ({saved[path]}) has no place in the tree'
            for path in sorted(set(saved) - set(sources.values()))
        ]
    if problems:
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        hint = "" if only is not None else " (only= restores a part, rename= other paths)"
        raise StateError(f"the checkpoint {place} does not fit: {'; '.join(problems[:_SHOWN])}{more}{hint}")
    return sources


def _below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}.")


def _chosen(kinds: Mapping[str, AnyKind], only: str | Iterable[str] | None) -> list[str]:
    if only is None:
        return list(kinds)
    prefixes = [only] if isinstance(only, str) else list(only)
    for prefix in prefixes:
        _check_known(prefix, kinds, "only")
    return [path for path in kinds if any(_below(path, prefix) for prefix in prefixes)]


def _check_known(prefix: Any, kinds: Mapping[str, AnyKind], option: str) -> None:
    if not isinstance(prefix, str) or not any(_below(path, prefix) for path in kinds):
        known = {path[:end] for path in kinds for end, c in enumerate(f"{path}.") if c == "."}
        raise ArgumentError(f"{option} names {prefix!r}, no path of the tree{did_you_mean(prefix, known)}")


def _renamed(chosen: list[str], kinds: Mapping[str, AnyKind], rename: Mapping[str, str]) -> dict[str, str]:
    for own in rename:
        _check_known(own, kinds, "rename")
    sources = {}
    for path in chosen:
        prefix = max((own for own in rename if _below(path, own)), key=len, default="")
        sources[path] = rename[prefix] + path[len(prefix) :] if prefix else path
    return sources


def _fits(expected: AnyKind, found: AnyKind | None) -> bool:
    if isinstance(expected, SavedTable) or isinstance(found, SavedTable):
        return expected == found
    if found is None or found.shape != expected.shape:
        return False
    return expected.dtype is None or found.dtype is None or found.dtype == expected.dtype


def _problem(path: str, expected: AnyKind, source: str, saved: Mapping[str, AnyKind]) -> str:
    about = f'"{path}"' if path == source else f'"{path}", there "{source}",'
    if source in saved:
        return f"{about} is {saved[source]}, expected {expected}"
    return f"{about} is not in it, expected {expected}{did_you_mean(source, saved)}"


def put(layout: Any, values: Mapping[str, Any]) -> Any:
    """The tree `layout` with values in the place of those leaves that have some, by path."""
    return jax.tree.map_with_path(lambda path, leaf: values.get(path_text(names(path)), leaf), layout)
