"""States as one file of safetensors: `epl.save_safetensors`, `epl.load_safetensors`.

Problem: the library writes whole tensors that one process has. Method: the format is a header, which says
where each tensor lies, and then their bytes; process 0 makes the file in full length, and each process writes
its parts into it. Reading is the library's, slice by slice. Names are paths, with dots as in PyTorch.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import hooks
from epl.array import Array
from epl.checkpoints.agreement import together
from epl.checkpoints.layout import Held
from epl.checkpoints.own_parts import own_parts
from epl.checkpoints.parts import Box, elements, part_of, pieces, slices
from epl.checkpoints.paths import names, path_text
from epl.checkpoints.restoring import Kind, kind_of, match, put, wanted
from epl.checkpoints.tables import as_leaves
from epl.errors import ArgumentError, Error
from epl.executable import PathLike, user_path
from epl.processes import group
from epl.processes.agreement import in_all
from epl.signature import is_key
from epl.tables.table import check_none

_NAMES = {
    "bool": "BOOL",
    "bfloat16": "BF16",
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
}
_INSTEAD = "Table.save and epl.Checkpoints save it"
_DTYPES = {text: name for name, text in _NAMES.items()}
_READ_BYTES = 1 << 24  # that are read at once: a copy of so much is in memory beside the result


def save_safetensors(path: PathLike, tree: Any) -> None:
    """Writes a tree of arrays as one file, whole or not at all.

    All processes of a run call it, and each writes its parts of `epl.Array`s; what else is in the tree is
    written by process 0. Names are paths with dots: `params.layer0.w`. Waits for the steps that make the
    arrays. The path must be of a disk that all processes see.

    Raises:
      ArgumentError: for leaves that are no arrays or numbers, typed keys (save `jax.random.key_data` of them)
        and two of one name.
      UnsupportedError: for an `epl.Table`.
      Error: if the file cannot be written, with the system's reason, the same in all processes.
      ProcessError: if processes save other trees.
    """
    target = user_path(path).absolute()
    check_none(tree, "saved", _INSTEAD)

    def prepare() -> tuple[list[str], dict[str, Any]]:
        found = _leaves(tree)
        return [f'"{target}"', *(f"{name}: {kind_of(leaf)}" for name, leaf in found.items())], found

    leaves = together("the saving of a file", prepare)
    header, offsets = _header(leaves)
    unfinished = target.parent / f".{target.name}.unfinished"
    size = len(header) + sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves.values())
    is_first = group.speaks()
    try:
        _in_all(target, lambda: _make(unfinished, header, size) if is_first else None)
        _in_all(target, lambda: _write_parts(unfinished, leaves, offsets))
        _in_all(target, lambda: unfinished.replace(target) if is_first else None)
    finally:
        if is_first:
            unfinished.unlink(missing_ok=True)


def load_safetensors(
    path: PathLike,
    layout: Any,
    *,
    only: str | list[str] | tuple[str, ...] | None = None,
    rename: Mapping[str, str] | None = None,
) -> Any:
    """A tree like `layout` with the arrays of a file of safetensors.

    Leaves of `epl.layout_of` become `epl.Array`s as the step holds them: each process reads what its devices
    have of them, and no more. All else is as in `Checkpoints.restore`.

    Args:
      only: paths ("params", "params.layer0"): what is not below them stays as it is in `layout`.
      rename: from paths in `layout` to names in the file, of arrays or of whole parts.

    Raises:
      ArgumentError: if a path of `only` or `rename` is none of `layout`.
      StateError: if the file has other names, shapes or dtypes: names them.
      Error: if there is no such file, or it is none of safetensors.
    """
    file = user_path(path)
    target = jax.tree.map(wanted, as_leaves(layout))
    with _opened(file) as opened:
        saved = {name: _kind(opened.get_slice(name)) for name in opened.keys()}  # noqa: SIM118
        sources = match(f'"{file}"', target, saved, only, rename)
        leaves = {path_text(names(path)): leaf for path, leaf in jax.tree.flatten_with_path(target)[0]}
        read = {name: _read(opened, source, leaves[name]) for name, source in sources.items()}
    return put(layout, read)


def _leaves(tree: Any) -> dict[str, Any]:
    """The arrays of a tree by name."""
    found: dict[str, Any] = {}
    for path, leaf in jax.tree.flatten_with_path(tree)[0]:
        name = path_text(names(path))
        if name in found:
            raise ArgumentError(f'two arrays of the tree have the name "{name}"')
        array = leaf if isinstance(leaf, (jax.Array, np.ndarray)) else np.asarray(leaf)
        if is_key(array.dtype) or np.dtype(array.dtype).name not in _NAMES:
            advice = ": save jax.random.key_data of it" if is_key(array.dtype) else ""
            raise ArgumentError(f'"{name}" is {array.dtype}, which safetensors has not{advice}')
        found[name] = array.snapshot() if isinstance(array, Array) else array
    return found


def _header(leaves: Mapping[str, Any]) -> tuple[bytes, dict[str, int]]:
    """The beginning of the file, and where each array begins."""
    entries, begins, place = {}, {}, 0
    for name, leaf in sorted(leaves.items(), key=lambda item: -item[1].dtype.itemsize):  # all stand aligned
        end = place + math.prod(leaf.shape) * leaf.dtype.itemsize
        entries[name] = {
            "dtype": _NAMES[np.dtype(leaf.dtype).name],
            "shape": list(leaf.shape),
            "data_offsets": [place, end],
        }
        begins[name], place = place, end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    header = len(text).to_bytes(8, "little") + text
    return header, {name: len(header) + begin for name, begin in begins.items()}


def _in_all(target: Path, action: Callable[[], Any]) -> None:
    """Does what writes a file in all processes, or none goes on."""

    def write() -> None:
        try:
            action()
        except OSError as error:
            raise Error(f'cannot write "{target}": {error.strerror}') from error

    in_all(f"the saving of {target}", write)


def _make(path: Path, header: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(header)
        file.flush()
        os.posix_fallocate(file.fileno(), 0, size)  # a full disk is an error here, a signal in mapped memory


def _write_parts(path: Path, leaves: Mapping[str, Any], offsets: Mapping[str, int]) -> None:
    for name, leaf in leaves.items():
        parts = [part for part in _own_parts(leaf) if elements(part[0])]
        if parts:
            place = np.memmap(path, leaf.dtype, "r+", offsets[name], leaf.shape)
            for box, data in parts:
                place[slices(box)] = data
            place.flush()


def _own_parts(leaf: Any) -> list[tuple[Box, Any]]:
    """What this process writes of an array."""
    if isinstance(leaf, Array):
        return own_parts(leaf)
    return [(tuple((0, extent) for extent in leaf.shape), np.asarray(leaf))] if group.speaks() else []


def _opened(path: Path) -> Any:
    try:
        library = importlib.import_module("safetensors")
    except ImportError as error:
        raise Error(f"files of safetensors need its package ({error}): pip install safetensors") from None
    try:
        return library.safe_open(path, "np")
    except (OSError, library.SafetensorError) as error:
        raise Error(f'cannot read "{path}" as safetensors: {error}') from None


def _kind(found: Any) -> Kind:
    name = found.get_dtype()
    return Kind(tuple(found.get_shape()), np.dtype(_DTYPES[name]) if name in _DTYPES else name)


def _read(opened: Any, name: str, leaf: Any) -> Any:
    """An array of a file as the user's tree has it."""
    held = getattr(leaf, "sharding", None)
    if isinstance(held, Held):
        return _read_parts(opened, name, held)
    value = opened.get_tensor(name)
    if is_key(getattr(leaf, "dtype", None)):
        return hooks.key_wrapper(leaf.dtype)(jnp.asarray(value))
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        return jax.device_put(value, leaf.sharding)
    return value if isinstance(leaf, np.ndarray) else type(leaf)(value[()])


def _read_parts(opened: Any, name: str, held: Held) -> jax.Array:
    array, rooms = held.make()
    source = opened.get_slice(name) if held.shape else None
    limit = max(1, _READ_BYTES // held.dtype.itemsize)
    for box, memory in rooms:
        if elements(box) == 0:
            continue
        for piece in pieces(box, [1] * len(box), limit):
            value = opened.get_tensor(name) if source is None else source[slices(piece)]
            part_of(memory[0], box, piece)[...] = value
        for other in memory[1:]:
            np.copyto(other, memory[0])
    return array
