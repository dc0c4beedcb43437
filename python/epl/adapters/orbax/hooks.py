"""Everything private that EPL uses of orbax, and nothing else: when the pinned orbax moves, this file moves.

What orbax writes of an array are its replica slices; those here are what one process has of an array that
EPL's devices hold, in boxes of any shape.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint._src.arrays import fragments
from orbax.checkpoint._src.futures import future, synchronization
from orbax.checkpoint._src.metadata import array_metadata, array_metadata_store
from orbax.checkpoint._src.serialization import jax_array_handlers, replica_slices, type_handler_registry

from epl.checkpoints.parts import Box, slices

ArrayHandler = ocp.type_handlers.ArrayHandler


def registry() -> Any:
    """Where orbax looks for who writes values of a type, if it is told no other."""
    return type_handler_registry.GLOBAL_TYPE_HANDLER_REGISTRY


def new_metadata_store() -> Any:
    """Keeps the shapes of what was written, and the kind of keys, beside the arrays."""
    return array_metadata_store.Store()


def await_descriptions(manager: Any) -> None:
    """Waits for what a manager's threads write about checkpoints, well or not.

    Its own way to wait for a save that fails does not: they write on, and a later save tells of their errors.
    """
    descriptions = manager._checkpointer._metadata_store
    is_waiting = True
    while is_waiting:
        try:
            descriptions.wait_until_finished()
        except Exception:
            continue  # of one of them, which is told no more
        is_waiting = False


@dataclasses.dataclass(frozen=True)
class Written(replica_slices.ReplicaSlices):  # type: ignore[misc]
    """What this process writes of an array; its boxes need not be alike."""

    def to_fragments(self) -> fragments.ConcreteFragments:
        """As orbax has it."""
        parts = [fragments.NpFragment(index=each.index, value=each.data()) for each in self.replica_slices]
        return fragments.NpFragments(shape=self.global_shape, dtype=self.dtype, fragments=parts)


def written(
    shape: tuple[int, ...], dtype: Any, chunk: tuple[int, ...], parts: Sequence[tuple[Box, Any]]
) -> Written:
    """What this process writes of an array: NumPy arrays, which stay as they are until it is written."""
    own = [replica_slices.ReplicaSlice(_steps(slices(box)), data, slice_args=None) for box, data in parts]
    sharding = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    return Written(shape, chunk, sharding, np.dtype(dtype), is_on_host=True, replica_slices=own)


def _steps(index: tuple[slice, ...]) -> tuple[slice, ...]:
    return tuple(slice(each.start, each.stop, 1) for each in index)


def of_jax(handler: Any, array: jax.Array) -> replica_slices.ReplicaSlices:
    """What this process writes of an array of JAX's."""
    (found,) = replica_slices.transfer_arrays_to_host(
        [array],
        handler._replica_id,
        handler._use_replica_parallel,
        handler._min_slice_bytes_for_replica_parallel,
        handler._max_replicas_for_replica_parallel,
    )
    return found


def in_background(work: Coroutine[Any, Any, None]) -> Any:
    """Does the work behind the program; what a handler gives for it."""
    return future.CommitFutureAwaitingContractedSignals(work, name="epl_arrays")


async def write_shardings(handler: Any, shardings: Sequence[Any], infos: Sequence[Any]) -> None:
    """Writes what says how plain orbax holds the arrays if nobody says it."""
    await jax_array_handlers._async_serialize_shardings(shardings, infos, primary_host=handler._primary_host)


async def write(
    handler: Any, arrays: Sequence[Any], infos: Sequence[Any], args: Sequence[Any], keys: dict[str, str]
) -> None:
    """Writes slices; `keys` has the generators of typed keys, by the names of their arrays."""
    await jax_array_handlers._async_serialize_replica_slices(
        arrays,
        infos,
        args,
        primary_host=handler._primary_host,
        metadata_key=handler._metadata_key,
        array_metadata_store=handler._array_metadata_store,
        enable_replica_parallel_separate_folder=False,
        use_replica_parallel=handler._use_replica_parallel,
        ext_metadata={name: {array_metadata.RANDOM_KEY_IMPL: kind} for name, kind in keys.items()},
    )


def read_spec(handler: Any, info: Any) -> dict[str, Any]:
    """How tensorstore opens a saved array."""
    spec: dict[str, Any] = ocp.type_handlers.get_json_tspec_read(
        info, use_ocdbt=info.is_ocdbt_checkpoint, metadata_key=handler._metadata_key
    )
    return spec


check_sizes = jax_array_handlers.check_array_values
"""Raises orbax's error for arrays without elements, given their infos."""

Source = Callable[[], replica_slices.ReplicaSlices]
"""Gives what this process writes of an array, and waits for what makes it."""


class Commits:
    """What a manager's saves do behind the program: write, meet the other processes, name the checkpoint."""

    def __init__(
        self,
        manager: Any,
        around: Callable[[Any, Callable[[], BaseException | None]], None],
        meet: Callable[[int], None],
    ) -> None:
        """Puts `around` in the place of that, and `meet` in that of its meetings.

        Args:
          around: gets the folder of the checkpoint, and what does the work and gives its error.
          meet: waits for all processes, for at most so many milliseconds.
        """
        self._saves = manager._checkpointer._async_manager
        self._work, self._begin = self._saves._thread_func, self._saves.start_async_commit
        self._around = around
        self._operation = ""
        self.wait: Callable[[str, int], None] = self._saves._sync_fn
        """Waits until all processes are in a meeting of one name, for at most so many milliseconds."""
        self.limit: int = self._saves._timeout_secs * 1000
        """How long the work may take, in milliseconds."""
        self._saves._thread_func = self._save
        self._saves.start_async_commit = self._start
        self._saves._sync_fn = lambda _, limit: meet(limit)

    def _start(self, *args: Any, **options: Any) -> None:
        self._operation = synchronization.OperationIdGenerator.get_current_operation_id()
        self._begin(*args, **options)

    def _save(self, directory: Any, *args: Any) -> None:
        def work() -> BaseException | None:
            self._work(directory, *args)
            error: BaseException | None = self._saves._exception
            return error

        self._around(directory, work)

    def release(self) -> None:
        """Lets those go on who wait for what this save makes first (folders), which may never come."""
        signals = future.AwaitableSignalsContract.get_awaitable_signals_from_contract(self._operation)
        future.set_signals(signals, operation_id=self._operation)
