"""Files of parameters and of what else a program keeps, as Paddle writes them.

    written by                                    | what it is                                | read by
    ----------------------------------------------+-------------------------------------------+--------------
    `static.save`, `fluid.save`, `paddle.save`    | pickles of dicts, `.pdparams`, `.pdopt`   | `read_state`
    `save_params`, `save_persistables`            | a folder with a file for each variable    | `read_folder`
    the same with `filename`, and                 | one file of tensors without names, in the | `read_stream`
    `save_inference_model` (`.pdiparams`)         | order of their names                      |

Whatever bytes a file has, reading it runs nothing of it, takes memory in proportion to its size, and gives
tensors or one `epl.Error`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from epl.errors import ArgumentError, Error
from epl.files import write_file
from epl.paddle import dtypes, pickling, tensors, unpickling
from epl.paddle.streams import named, read_stream, read_tensors, write_stream

__all__ = [
    "read_folder",
    "read_state",
    "read_stream",
    "read_variables",
    "write_folder",
    "write_state",
    "write_stream",
]

PathLike = str | os.PathLike[str]
Tensors = dict[str, np.ndarray[Any, Any]]

_PICKLES = (".pdparams", ".pdopt")
_PROTOCOL = b"\x80"  # the first byte of a pickle; that of a stream of tensors is 0
_PARTS = "UnpackBigParamInfor@@"  # the entry that says which arrays were cut
_NAMES = "StructuredToParameterName@@"  # the one that says which parameters layers have, by their names there


def read_file(path: Path) -> bytes:
    """The content of a file.

    Raises:
      Error: if it cannot be read, with the system's reason.
    """
    try:
        if path.exists() and not path.is_file():
            raise Error(f'"{path}" cannot be read: it is no file')
        return path.read_bytes()
    except OSError as error:
        raise Error(f'"{path}" cannot be read: {error.strerror}') from None


def read_state(file: PathLike) -> Tensors:
    """The tensors by name in a pickle of Paddle (`.pdparams`, `.pdopt`).

    Values that are no tensors, as a table of names and the state of a scheduler, are left out. Tensors of
    bfloat16 are uint16 there, and here.

    Raises:
      Error: for other content, for a pickle that asks for something else than arrays, and for a file that
        cannot be read.
    """
    path = Path(os.fspath(file))
    return _tensors(unpickling.read(read_file(path), f'"{path}"'), f'"{path}"')


def _tensors(values: dict[str, Any], where: str) -> Tensors:
    parts = values.pop(_PARTS, {})
    found = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    if not isinstance(parts, dict):
        raise Error(f'{where} has a "{_PARTS}" that is no dict')
    for name, info in parts.items():
        what = f'"{name}" in {where}'
        if not isinstance(info, dict) or name in found:
            raise Error(f"{what} is cut into parts, but they are not said, or it stands whole beside them")
        found[name] = _joined(_popped(found, info.get("slices"), what), info.get("OriginShape"), what)
    return found


def _popped(found: Tensors, names: Any, what: str) -> list[np.ndarray[Any, Any]]:
    """The parts of a tensor, each once."""
    if not isinstance(names, list) or not names:
        raise Error(f"{what} is cut into parts, but they are not said")
    pieces: list[np.ndarray[Any, Any]] = []
    for name in names:
        piece = found.pop(name, None) if isinstance(name, str) else None
        if piece is None or piece.ndim != 1:
            raise Error(
                f"{what} is cut into parts, of which number {len(pieces)} is missing or has no one dimension"
            )
        pieces.append(piece)
    return pieces


def _joined(pieces: list[np.ndarray[Any, Any]], shape: Any, what: str) -> np.ndarray[Any, Any]:
    if not isinstance(shape, tuple) or not all(type(extent) is int for extent in shape):
        raise Error(f"{what} is cut into parts, but no shape is said")
    tensors.check_shape(shape, what)
    if len({piece.dtype for piece in pieces}) != 1 or math.prod(shape) != sum(map(len, pieces)):
        raise Error(f"{what} is cut into parts that do not make {list(shape)}")
    return np.concatenate(pieces).reshape(shape)


def write_state(file: PathLike, values: Mapping[str, Any]) -> None:
    """Writes tensors by name as `paddle.load` and `static.load` read them (`.pdparams`, `.pdopt`).

    It is a pickle of protocol 4. The file is written whole or not at all.

    Raises:
      ArgumentError: for names that are no texts, and for dtypes that Paddle has no tensors of.
      Error: if it cannot be written.
    """
    arrays = {name: np.asarray(value) for name, value in values.items()}
    for name, value in arrays.items():
        if not isinstance(name, str):
            raise ArgumentError(f"a name of a tensor is a text, found {type(name).__name__}")
        if value.dtype.name not in {*dtypes.NUMBERS, "uint16"}:
            raise ArgumentError(
                f'"{name}" is of {value.dtype.name}, expected one of {", ".join(dtypes.NUMBERS)}'
            )
    stored = {name: value.view(np.uint16) if _is_bfloat16(value) else value for name, value in arrays.items()}
    write_file(Path(os.fspath(file)), pickling.write(stored))


def _is_bfloat16(value: np.ndarray[Any, Any]) -> bool:
    return bool(value.dtype.name == "bfloat16")


def read_folder(folder: PathLike, names: Iterable[str]) -> Tensors:
    """Variables in a folder that has a file for each, as `save_params` and `save_persistables` write it.

    Raises:
      Error: for files that are missing, all of them in one error; for a name that leads out of the folder;
        for a file of anything else than one tensor.
    """
    files = {name: _file_of(Path(os.fspath(folder)), name) for name in names}
    if missing := [name for name, path in files.items() if not path.exists()]:
        raise Error(f'"{os.fspath(folder)}" has no file of {_list(missing)}')
    return {name: read_stream(read_file(path), [name], f'"{path}"')[name] for name, path in files.items()}


def write_folder(folder: PathLike, values: Mapping[str, Any]) -> None:
    """Writes a file for each variable, as `load_params` and `load_persistables` read them.

    Each file is written whole or not at all.

    Raises:
      Error: for a name that leads out of the folder, before anything is written; if it cannot be written.
      ArgumentError: for dtypes that Paddle has no tensors of.
    """
    files = {
        _file_of(Path(os.fspath(folder)), name): write_stream([np.asarray(value)])
        for name, value in values.items()
    }
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Error(f'cannot write "{path}": {error.strerror}') from None
        write_file(path, content)


def _file_of(folder: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/" or "\0" in name:
        raise Error(
            f'variable "{name}" is no file in "{folder}": expected a name that does not lead out of it'
        )
    return folder / name


def read_variables(file: PathLike, wanted: Collection[str], saved: Sequence[str]) -> Tensors:
    """Variables of a program, of a file or a folder of any kind, in the order of their names.

    What `.pdparams` lacks is read in `.pdopt` beside it, as `static.load` does. Parameters of layers have the
    names that they have in programs, too, if the file has a table of these.

    Args:
      wanted: names of variables.
      saved: those that a file without names has, in their order, if it does not have those that are wanted.

    Raises:
      Error: as of the functions above, and for a variable that is missing.
    """
    path, wanted = Path(os.fspath(file)), sorted(wanted)
    if path.is_dir():
        return read_folder(path, wanted)
    content, where = read_file(path), f'"{path}"'
    if not content.startswith(_PROTOCOL) and path.suffix not in _PICKLES:
        found = read_tensors(content, where)
        names = saved if len(found) == len(saved) else wanted
        found_by_name = named(found, names, where)
        return {name: found_by_name[name] for name in wanted}
    state = _by_parameter(unpickling.read(content, where), where)
    beside = path.with_suffix(".pdopt")
    if path.suffix == ".pdparams" and not state.keys() >= set(wanted) and beside.is_file():
        state = {**read_state(beside), **state}
    if missing := [name for name in wanted if name not in state]:
        raise Error(f"{where} has no {_list(missing)}, found {_list(state)}")
    return {name: state[name] for name in wanted}


def _by_parameter(values: dict[str, Any], where: str) -> Tensors:
    """Tensors by their names, and by those of the parameters that they are if the file says so."""
    names = values.get(_NAMES)
    found = _tensors(values, where)
    known = names.items() if isinstance(names, dict) else ()
    own = {
        parameter: found[name] for name, parameter in known if name in found and isinstance(parameter, str)
    }
    return {**own, **found}


def _list(names: Iterable[str]) -> str:
    """Names for an error, the first ones of many."""
    every = list(names)
    shown = ", ".join(f'"{name[:100]}"' for name in every[:_SHOWN])
    return f"{shown} and {len(every) - _SHOWN} more" if len(every) > _SHOWN else shown or "nothing"


_SHOWN = 20
