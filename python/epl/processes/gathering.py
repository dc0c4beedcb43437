"""`epl.gather`: arrays that are in parts on several processes, whole in each of them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from epl.adapters.jax import hooks
from epl.array import Array
from epl.errors import ProcessError
from epl.processes.group import Group, current

Box = tuple[tuple[int, int], ...]


def gather(tree: Any) -> Any:
    """A tree whose `epl.Array`s are whole in every process, as `jax.Array`s; other leaves as they are.

    All processes call it, with the same arrays. Where this process has all of an array, nothing is copied.

    Raises:
      ProcessError: if processes gather other arrays, or one is lost.
      Error: if an array was donated, or the step that makes it has failed.
    """
    group = current()
    leaves, structure = jax.tree.flatten(tree)
    values = [numbers_of(leaf) for leaf in leaves]
    if group is not None:
        values = _gathered(group, values)
    return jax.tree.unflatten(structure, map(_whole, leaves, values))


def numbers_of(leaf: Any) -> Any:
    """The array below typed random keys; anything else as it is."""
    return leaf._base_array if isinstance(leaf, hooks.KEY_TYPE) else leaf


def _whole(leaf: Any, value: Any) -> Any:
    """A leaf, of whose value this process has all now."""
    whole = value.to_jax() if isinstance(value, Array) else value
    if not isinstance(leaf, hooks.KEY_TYPE):
        return whole
    return leaf if whole is leaf._base_array else hooks.key_wrapper(leaf.dtype)(whole)


def is_divided(value: Any) -> bool:
    """Whether other processes have parts or copies of a value; of one result it is so in all processes."""
    return isinstance(value, Array) and not value.is_fully_addressable


def own_parts(array: Array) -> list[tuple[Box, np.ndarray[Any, Any]]]:
    """What this process has of an array, each box once: its bounds in each dimension, and its elements.

    Waits for the step that makes them. They are views, which nobody may write.

    Raises:
      Error: if the array was donated, or its step has failed.
    """
    parts = {tuple(box): data for _, box, data, _ in array._read(array.buffer.shards)}
    return [(box, data.view(array.dtype)) for box, data in parts.items()]


def _gathered(group: Group, leaves: list[Any]) -> list[Any]:
    places = [i for i, leaf in enumerate(leaves) if is_divided(leaf)]
    found = [(leaves[i].shape, leaves[i].dtype.name, _is_here(leaves[i])) for i in places]
    said = group.share(found, "a gather")
    kinds = [[kind[:2] for kind in one] for one in said]
    if any(kind != kinds[0] for kind in kinds):
        other = next(process for process, kind in enumerate(kinds) if kind != kinds[0])
        raise ProcessError(
            f"process 0 gathers {_list(kinds[0])}, {group.describe(other)} gathers {_list(kinds[other])}; "
            "expected the same arrays"
        )
    whole = list(leaves)
    for number, place in enumerate(places):
        if not all(one[number][2] for one in said):
            whole[place] = _gather_one(group, leaves[place])
    return whole


def _is_here(array: Array) -> bool:
    return bool(array._read(lambda: array.buffer.is_here))


def _list(kinds: list[Any]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in kinds) or "nothing"


def _gather_one(group: Group, array: Array) -> jax.Array:
    """Each box goes once to each process, from the first device that has it."""
    shards = array._read(array.buffer.shards)
    own = [(box, np.array(data)) for _, box, data, copy in shards if copy == 0]
    whole = np.empty(array.shape, array.dtype)
    for parts in group.share(own, "a gather"):
        for box, data in parts:
            whole[tuple(slice(*bounds) for bounds in box)] = data.view(array.dtype)
    return hooks.adopter(array.shape, array.dtype)(whole)
