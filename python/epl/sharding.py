"""How devices hold what an earlier step has made, so that the next step can leave it there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple


class Sharding(NamedTuple):
    """How the devices of a mesh hold an array.

    axes: of the mesh, major first, with their sizes. shape: what is split, the array's shape, or one of the
    same elements in the same order where a dimension of equal segments is two, (segments, extent of each).
    dims: the axes that split each dimension of it. owner: of an array that some devices have alone, their
    coordinates on axes.
    """

    axes: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    dims: tuple[tuple[str, ...], ...]
    owner: tuple[tuple[str, int], ...] = ()

    @property
    def is_whole_everywhere(self) -> bool:
        """Whether each device has all of the array."""
        return not any(self.dims) and not self.owner


def arrivals(leaves: Iterable[Any], devices: int) -> list[Sharding | None]:
    """The shardings of those leaves that are split on one mesh of so many devices, that of the first one.

    What devices own is not split: who owns what, each step decides.
    """
    held = (getattr(leaf, "device_sharding", None) for leaf in leaves)
    found: list[Sharding | None] = [
        sharding._replace(owner=()) if sharding and any(sharding.dims) else None for sharding in held
    ]
    meshes = (sharding.axes for sharding in found if sharding)
    mesh = next((axes for axes in meshes if math.prod(size for _, size in axes) == devices), None)
    return [sharding if sharding and sharding.axes == mesh else None for sharding in found]
