"""Where a step wants its states: what a restore fills, part by part."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from epl.adapters import nnx
from epl.adapters.jax import hooks
from epl.array import Array
from epl.checkpoints.parts import Box
from epl.checkpoints.paths import Path, differences, names
from epl.errors import ArgumentError, StateError
from epl.signature import is_key
from epl.stages import Compiled, Lowered


class Room(NamedTuple):
    """A box of a new array, and the memory of those devices of this process that have it."""

    box: Box
    memory: list[np.ndarray[Any, Any]]


class Held(SingleDeviceSharding):  # type: ignore[misc]
    """The sharding of a state in a layout: how a step holds it. JAX sees a device of this process.

    shape, dtype: of the elements in memory; of typed keys those of their numbers.
    """

    def __init__(self, new: Callable[[], Any], shape: tuple[int, ...], dtype: Any) -> None:
        """`new` gives a value of the runtime's that is not written yet, and its memory."""
        super().__init__(jax.local_devices(backend="cpu")[0])
        self._new = new
        self._wrap = hooks.key_wrapper(dtype) if is_key(dtype) else None
        self.shape = shape
        self.dtype: Any = np.dtype(np.uint32) if self._wrap else np.dtype(dtype)

    def make(self) -> tuple[jax.Array, list[Room]]:
        """A new array held so, and its parts here, which are to be written before it is used."""
        buffer, shards = self._new()
        memory: dict[Box, list[np.ndarray[Any, Any]]] = {}
        for _, box, data, _ in shards:
            memory.setdefault(box, []).append(data.view(self.dtype))
        array: jax.Array = Array(buffer, self.dtype, self.shape)
        rooms = [Room(box, arrays) for box, arrays in memory.items()]
        return (self._wrap(array) if self._wrap else array), rooms

    def __repr__(self) -> str:
        return f"Held({self.dtype.name}{list(self.shape)}, as a step holds it)"


def layout_of(step: Lowered | Compiled, state: Any = None) -> Any:
    """Where a step wants its states: what `Checkpoints.restore`, `load_safetensors` and orbax restore into.

    Args:
      step: lowered or compiled; `train_step.lower(...)` takes `jax.ShapeDtypeStruct`s, too.
      state: the states as the step takes them (arrays, `jax.ShapeDtypeStruct`s, objects of flax.nnx or their
        `nnx.state`): the only one, or a tuple of all in the order of `state=`. Their trees are those of the
        result; default the step's own.

    Returns:
      The trees with a `jax.ShapeDtypeStruct` for each array, whose sharding says where it belongs; of an
      object of flax.nnx its `nnx.state`. Put them into a tree with the names that the checkpoint has.

    Raises:
      ArgumentError: if `step` is neither.
      StateError: if `state` has other paths, shapes or dtypes than the states of the step.
    """
    if not isinstance(step, (Lowered, Compiled)):
        raise ArgumentError(
            f"step must be a lowered or compiled one, found {step!r}: lower it, as by "
            "train_step.lower(params, x, y); jax.ShapeDtypeStructs do for arrays"
        )
    compiled = step.compile() if isinstance(step, Lowered) else step
    own = _own_layouts(compiled)
    given = tuple(own.values()) if state is None else _given(compiled.name, tuple(own), state)
    found = tuple(_placed(name, own[name], tree) for name, tree in zip(own, given, strict=True))
    return found[0] if len(found) == 1 else found


def layout_like(array: Array, dtype: Any = None) -> jax.ShapeDtypeStruct:
    """The layout of an array that is there; `dtype`: of typed keys whose numbers it is."""
    dtype = dtype or array.dtype
    shape = array.shape[:-1] if is_key(dtype) else array.shape
    return jax.ShapeDtypeStruct(shape, dtype, sharding=Held(array.buffer.new_alike, array.shape, dtype))


def _own_layouts(compiled: Compiled) -> dict[str, Any]:
    """The layout of each state of a step, by parameter."""
    lowered = compiled.lowered
    states = [owner in lowered.signature.state for owner in lowered.spec.owners]
    leaves = [
        jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=_held(compiled, i, leaf)) if is_state else leaf
        for i, (leaf, is_state) in enumerate(zip(lowered.spec.leaves, states, strict=True))
    ]
    trees = lowered.spec.by_parameter(leaves)
    return {name: _plain(trees[name]) for name in lowered.signature.state}


def _held(compiled: Compiled, index: int, leaf: Any) -> Held:
    return Held(functools.partial(compiled.new_state, index), compiled.state_shape(index), leaf.dtype)


def _plain(tree: Any) -> Any:
    return tree.variables if isinstance(tree, nnx.Split) else tree


def _given(step: str, parameters: Sequence[str], state: Any) -> Sequence[Any]:
    """The states that the user gives, in the order of the parameters."""
    if len(parameters) == 1:
        return [_plain(nnx.split(state))]
    if not isinstance(state, (tuple, list)) or hasattr(state, "_fields") or len(state) != len(parameters):
        raise StateError(
            f"state must be a tuple of the {len(parameters)} states of {step} ({', '.join(parameters)}), "
            f"found {_kind(state)}"
        )
    return [_plain(nnx.split(each)) for each in state]


def _kind(state: Any) -> str:
    size = f" of {len(state)}" if isinstance(state, (tuple, list, Mapping)) else ""
    return f"{type(state).__name__}{size}"


def _placed(name: str, own: Any, given: Any) -> Any:
    """The layout of a state in the user's tree."""
    if problem := differences(name, own, given):
        raise StateError(f"state is not as the step takes it: {problem}")
    layouts: dict[Path, Any] = {names(path): leaf for path, leaf in jax.tree.flatten_with_path(own)[0]}
    return jax.tree.map_with_path(lambda path, _: layouts[names(path)], given)
