"""Models that are split instead of replicated, and the shardings that a plan chose, as JAX takes them."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import epl


def split_scopes(device_count: int) -> None:
    """Lets all scopes that replicate be one that is split."""
    epl.replicate = lambda *_, **__: epl.split(device_count, name="all")  # type: ignore[assignment]


def named_shardings(plan: Any, tree: Any, sizes: tuple[int, int]) -> Any:
    """A NamedSharding for each leaf of `tree`, the plan's arguments in order, on JAX's devices.

    Args:
      plan: over the axes "data" and "model", of these `sizes`.
    """
    mesh = Mesh(np.array(jax.devices()).reshape(sizes), ("data", "model"))
    slots = [slot for slot in plan.slots if slot.role in ("state", "batch") and not slot.hidden]

    def put(leaf: Any, slot: Any) -> NamedSharding:
        axes = [tuple(axes) or None for axes in axes_of(slot)[: np.ndim(leaf)]]  # a key has no dimensions
        return NamedSharding(mesh, PartitionSpec(*axes))

    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, [put(*pair) for pair in zip(leaves, slots, strict=True)])


def axes_of(slot: Any) -> list[list[str]]:
    """The axes that split each dimension; those of both where the plan has segments and their extent."""
    found, rest = [], zip(slot.sharded_shape, slot.sharding, strict=True)
    for extent in slot.shape:
        part, axes = next(rest)
        found.append(list(axes))
        while part != extent:
            inner, axes = next(rest)
            part *= inner
            found[-1] += axes
    return found
