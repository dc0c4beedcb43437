"""How EPL's devices hold an array, in the terms of JAX."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from epl.sharding import Sharding


class HeldByEpl(SingleDeviceSharding):  # type: ignore[misc]
    """The sharding of an array that EPL's devices hold in a way that JAX has no devices, or no words, for.

    JAX sees the array as a whole on its first CPU device, where it comes when JAX computes with it. `held` is
    how EPL holds it; None where it is on one of several meshes.
    """

    def __init__(self, device: Any, held: Sharding | None) -> None:
        super().__init__(device)
        self.held = held

    def __repr__(self) -> str:
        return f"HeldByEpl({_describe(self.held)}; for JAX whole on {next(iter(self.device_set))})"


def _describe(held: Sharding | None) -> str:
    if held is None:
        return "on one of several meshes"
    mesh = ", ".join(f"{name}={size}" for name, size in held.axes)
    dims = ", ".join("+".join(axes) or "whole" for axes in held.dims)
    owner = "".join(f", owner {axis}={coordinate}" for axis, coordinate in held.owner)
    return f"mesh {mesh}: [{dims}]{owner}"


def jax_sharding(held: Sharding | None, shape: tuple[int, ...]) -> jax.sharding.Sharding:
    """The sharding of an array of that shape, over JAX's CPU devices where EPL's mesh has no more.

    Rank i of EPL's mesh is JAX's CPU device i. With fewer devices, and where a dimension of several
    segments is split, or some devices have the array alone, it is a `HeldByEpl`.
    """
    devices = jax.devices("cpu")
    ranks = math.prod(size for _, size in held.axes) if held else 0
    if held is None or held.shape != shape or held.owner or ranks > len(devices):
        return HeldByEpl(devices[0], held)
    if ranks == 1:
        return SingleDeviceSharding(devices[0])
    names, sizes = zip(*held.axes, strict=True)
    mesh = jax.sharding.Mesh(np.array(devices[:ranks]).reshape(sizes), names)
    return NamedSharding(mesh, PartitionSpec(*(axes or None for axes in held.dims)))
