"""What writes and reads arrays for orbax: those that EPL's devices hold from and into their memory.

Problem: orbax takes an array for equal boxes on JAX's devices. EPL's devices may hold several boxes each, an
array may be on one of several meshes, and a process may have none of it; and a save should wait for nothing.
Method: a save takes snapshots, which the next step leaves as they are, and a thread of orbax's waits for them
and writes this process's boxes. A restore makes a new state and reads into its memory.
Invariant: what is on disk is what orbax writes of a `jax.Array` of that shape and dtype.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts

from epl.adapters.jax import hooks as jax_hooks
from epl.adapters.orbax import hooks
from epl.array import Array
from epl.checkpoints.layout import Held
from epl.checkpoints.own_parts import own_parts
from epl.checkpoints.parts import chunk_shape, elements, part_of, pieces, slices, written_parts
from epl.errors import Error

CHUNK_BYTES = 1 << 23
"""Of a piece of a file, at most: whoever reads a part of it has all of it in memory for a while."""

READ_BYTES = 1 << 24
"""That a restore has in memory beside the new state, about."""


class ArrayHandler(hooks.ArrayHandler):  # type: ignore[misc]
    """Orbax's handler of `jax.Array`s, which also writes `epl.Array`s, and reads into layouts.

    Arrays that are in one process alone, of which each has its own, are written by process 0.
    """

    def __init__(self) -> None:
        super().__init__(array_metadata_store=hooks.new_metadata_store())

    async def serialize(
        self, values: Sequence[Any], infos: Sequence[Any], args: Sequence[Any] | None = None
    ) -> Any:
        """Takes snapshots; gives what writes them."""
        if not any(map(_is_for_epl, values)):
            return await super().serialize(values, infos, args)
        hooks.check_sizes(values, infos)
        own_args = [_with_chunks(arg) for arg in args or [ocp.SaveArgs()] * len(values)]
        keys = {
            info.name: str(jax.random.key_impl(value))
            for value, info in zip(values, infos, strict=True)
            if isinstance(value, jax_hooks.KEY_TYPE)
        }
        plain = [_numbers(value) for value in values]
        sources = [_source(self, value) for value in plain]
        first = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
        shardings = [first if _is_for_epl(value) else value.sharding for value in plain]

        async def write() -> None:
            await hooks.write_shardings(self, shardings, infos)
            arrays = [await asyncio.to_thread(source) for source in sources]
            await hooks.write(self, arrays, infos, own_args, keys)

        return [hooks.in_background(write())]

    async def deserialize(self, infos: Sequence[Any], args: Sequence[Any] | None = None) -> Any:
        """Reads arrays of layouts into new states, others as orbax does."""
        own = [isinstance(getattr(arg, "sharding", None), Held) for arg in args or ()]
        if args is None or not any(own):
            return await super().deserialize(infos, args)
        kinds = list(zip(infos, args, own, strict=True))
        others = [(info, arg) for info, arg, is_own in kinds if not is_own]
        read = iter(await super().deserialize(*map(list, zip(*others, strict=True))) if others else ())
        room = asyncio.Semaphore(2)
        made = [_read(self, info, arg.sharding, room) if is_own else None for info, arg, is_own in kinds]
        states = iter(await asyncio.gather(*(each for each in made if each is not None)))
        return [next(states) if is_own else next(read) for is_own in own]


def register() -> None:
    """Lets orbax write and read `epl.Array`s wherever it is told no other handlers."""
    hooks.registry().add(jax.Array, ArrayHandler(), override=True, ignore_warnings=True)


def _numbers(value: Any) -> Any:
    """The numbers of typed keys, other arrays as they are."""
    return value._base_array if isinstance(value, jax_hooks.KEY_TYPE) else value


def _is_for_epl(value: Any) -> bool:
    """Whether orbax alone would write it in another way, or not at all."""
    return isinstance(_numbers(value), Array) or (jax.process_count() > 1 and value.is_fully_addressable)


def _with_chunks(arg: Any) -> Any:
    return dataclasses.replace(arg, chunk_byte_size=arg.chunk_byte_size or CHUNK_BYTES)


def _source(handler: Any, value: Any) -> hooks.Source:
    """What gives this process's part of an array, taken now."""
    if isinstance(value, Array):
        return _snapshot(value)
    found = _alone(value) if _is_for_epl(value) else hooks.of_jax(handler, value)
    return lambda: found


def _alone(value: Any) -> Any:
    """An array that each process has by itself: process 0 writes its own."""
    box = tuple((0, extent) for extent in value.shape)
    parts = [(box, np.asarray(value))] if jax.process_index() == 0 else []
    return hooks.written(value.shape, value.dtype, value.shape, parts)


def _snapshot(value: Array) -> hooks.Source:
    snapshot = value.snapshot()

    def take() -> hooks.Written:
        parts = written_parts(snapshot.buffer.all_shards())
        chunk = chunk_shape(snapshot.shape, parts, snapshot.itemsize)
        return hooks.written(snapshot.shape, snapshot.dtype, chunk, own_parts(snapshot, parts))

    return take


async def _read(handler: Any, info: Any, held: Held, room: asyncio.Semaphore) -> jax.Array:
    """A new state with the elements of a saved array."""
    await info.await_path_creation()
    store = await ts.open(ts.Spec(hooks.read_spec(handler, info)), open=True, context=info.ts_context)
    if tuple(store.shape) != held.shape or store.dtype.numpy_dtype != held.dtype:
        raise Error(
            f'"{info.name}" is {store.dtype.name}{list(store.shape)} in the checkpoint, expected '
            f"{held.dtype.name}{list(held.shape)}"
        )
    array, rooms = held.make()
    chunk = [extent or 1 for extent in store.chunk_layout.read_chunk.shape or store.shape]
    limit = max(1, READ_BYTES // 2 // held.dtype.itemsize)
    for box, memory in rooms:
        if elements(box) == 0:
            continue
        for piece in pieces(box, chunk, limit):
            async with room:
                target = part_of(memory[0], box, piece)
                await ts.array(target).write(store[slices(piece)].translate_to[(0,) * store.rank])
        for other in memory[1:]:
            np.copyto(other, memory[0])
    return array
