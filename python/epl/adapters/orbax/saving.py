"""Checkpoints of orbax in a folder: saved and restored with EPL's handler of arrays."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint import checkpoint_managers as managers

from epl.adapters.jax import hooks
from epl.adapters.orbax import hooks as orbax_hooks
from epl.adapters.orbax.handler import ArrayHandler
from epl.adapters.orbax.together import Together
from epl.array import Array
from epl.checkpoints.paths import names, path_text
from epl.checkpoints.restoring import Kind, kind_of, match, put, wanted
from epl.checkpoints.tables import SavedTable, TableLeaf, kinds_with
from epl.errors import ArgumentError, StateError
from epl.processes import group
from epl.signature import is_key

_opened = itertools.count()  # managers: all processes open them in one order


def open_manager(folder: Path, keep: int | None, best: str | None, mode: str) -> tuple[Any, Together | None]:
    """What saves trees under numbers, and keeps the last `keep` and the best; and its processes' saves."""
    name = f"epl-saves/{next(_opened)}"
    policy = managers.LatestN(keep)
    if best is not None:
        best_one = managers.BestN(get_metric_fn=lambda metrics: metrics[best], reverse=mode == "min", n=1)
        policy = managers.AnyPreservationPolicy([policy, best_one])
    options = ocp.CheckpointManagerOptions(
        preservation_policy=policy,
        best_fn=None if best is None else lambda metrics: metrics[best],
        best_mode=mode,
        create=False,
        multiprocessing_options=_processes(name),
    )
    # Compression takes the cores that train, and makes trained numbers less than a tenth smaller.
    handler = ocp.PyTreeCheckpointHandler(type_handler_registry=_handlers(), use_compression=False)
    manager = ocp.CheckpointManager(folder, options=options, item_handlers=handler)
    present = group.current()
    return manager, None if present is None else Together(manager, present, name)


def _processes(name: str) -> Any:
    """Has the processes of a run meet in the store, as a thread may while the program computes in JAX.

    If it is told no processes, orbax has them meet in a collective of JAX's.
    """
    if jax.process_count() == 1:
        return ocp.options.MultiprocessingOptions()
    return ocp.options.MultiprocessingOptions(
        active_processes=set(range(jax.process_count())), barrier_sync_key_prefix=name
    )


@functools.cache
def _handlers() -> Any:
    """Orbax's of all types, but for arrays."""
    types = ocp.type_handlers.supported_types()
    own = [
        (each, ArrayHandler() if each is jax.Array else ocp.type_handlers.get_type_handler(each))
        for each in types
    ]
    return ocp.type_handlers.create_type_handler_registry(*own, (np.bool_, ocp.type_handlers.ScalarHandler()))


def taken(
    manager: Any, saves: Together | None, number: int, tree: Any, metrics: dict[str, float] | None
) -> Callable[[], None]:
    """Takes a tree as it is now; gives what begins to save it, the same in all processes.

    Raises what can be wrong with the tree: orbax leaves threads behind if it fails.
    """
    args = ocp.args.PyTreeSave(jax.tree.map_with_path(_taken, tree))
    leaves = jax.tree.flatten_with_path(tree)[0]
    kinds = {path_text(names(path)): str(kind_of(leaf)) for path, leaf in leaves}

    def save() -> None:
        if saves is not None:
            saves.agree(number, kinds, metrics)
        await_descriptions(manager)  # a save that has failed may have begun one late: no error of this one
        manager.save(number, args=args, metrics=metrics, force=True)

    return save


def await_descriptions(manager: Any) -> None:
    """Waits for what orbax still writes of a save that has failed, well or not."""
    orbax_hooks.await_descriptions(manager)


def _taken(path: Any, leaf: Any) -> Any:
    """A leaf as it is now, whatever the program or a step does with it."""
    name = path_text(names(path))
    if not _handlers().has(type(leaf)):
        raise ArgumentError(f'"{name}" must be an array, a number or a string, found {type(leaf).__name__}')
    if getattr(leaf, "size", 1) == 0:
        kind = f"{leaf.dtype}{list(leaf.shape)}"
        raise ArgumentError(f'"{name}" has no elements ({kind}), and orbax saves no such arrays')
    if isinstance(leaf, hooks.KEY_TYPE):
        return hooks.key_wrapper(leaf.dtype)(_kept(leaf._base_array))
    return _kept(leaf)


def _kept(leaf: Any) -> Any:
    """A value that stays when a step consumes the array, somebody donates or writes it."""
    if isinstance(leaf, Array):
        return leaf.snapshot()
    if isinstance(leaf, jax.Array):
        parts = [shard.data.copy() for shard in leaf.addressable_shards]
        return jax.make_array_from_single_device_arrays(leaf.shape, leaf.sharding, parts)
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def matched(
    manager: Any,
    number: int,
    place: str,
    layout: Any,
    only: str | Iterable[str] | None,
    rename: Mapping[str, str] | None,
    tables: Mapping[str, SavedTable],
) -> tuple[list[str], Callable[[], Any]]:
    """What of checkpoint `number` goes into `layout`: the paths there, and what reads them.

    Of tables it reads how many rows they have. Raises what `Checkpoints.restore` says.

    Args:
      place: for messages.
      tables: what is a table in the checkpoint.
    """
    saved, tree = _saved(manager, number, place)
    target = jax.tree.map(wanted, layout)
    kinds = kinds_with({path: _kind(leaf) for path, leaf in saved.items()}, tables)
    sources = match(place, target, kinds, only, rename)
    leaves = {path_text(names(path)): leaf for path, leaf in jax.tree.flatten_with_path(target)[0]}
    by_source = {source: leaves[path] for path, source in sources.items()}
    items = [_item(by_source.get(path, ocp.PLACEHOLDER)) for path in saved]
    arguments = [_arguments(by_source[path]) if path in by_source else ocp.RestoreArgs() for path in saved]
    wanted_parts = ocp.args.PyTreeRestore(
        item=jax.tree.unflatten(tree, items), restore_args=jax.tree.unflatten(tree, arguments)
    )

    def read() -> Any:
        values = dict(zip(saved, jax.tree.leaves(manager.restore(number, args=wanted_parts)), strict=True))
        return put(layout, {path: values[source] for path, source in sources.items()})

    return sorted(sources.values()), read


def _saved(manager: Any, number: int, place: str) -> tuple[dict[str, Any], Any]:
    """What orbax says of each array of a checkpoint, by path, and their tree."""
    metadata = manager.item_metadata(number)
    if not hasattr(metadata, "tree"):
        raise StateError(f"{place} is no checkpoint of one tree: restore it with orbax")
    paths, tree = jax.tree.flatten_with_path(metadata.tree)
    return {path_text(names(path)): leaf for path, leaf in paths}, tree


def _kind(metadata: Any) -> Kind:
    dtype = getattr(metadata, "dtype", None)
    return Kind(tuple(getattr(metadata, "shape", ())), None if dtype is None else np.dtype(dtype))


def _item(leaf: Any) -> Any:
    """What stands for a leaf in the tree that orbax restores."""
    return np.zeros((), np.int64) if isinstance(leaf, TableLeaf) else leaf


def _arguments(leaf: Any) -> Any:
    """How orbax restores a leaf."""
    leaf = _item(leaf)
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        sharding = leaf.sharding or jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        if is_key(leaf.dtype):  # orbax knows the kind of key
            return ocp.ArrayRestoreArgs(restore_type=jax.Array, sharding=sharding)
        return ocp.ArrayRestoreArgs(
            restore_type=jax.Array, sharding=sharding, global_shape=leaf.shape, dtype=leaf.dtype
        )
    return ocp.RestoreArgs(restore_type=type(leaf), dtype=getattr(leaf, "dtype", None))
