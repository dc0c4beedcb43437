"""Tensors one behind the other, as Paddle's `save_combine` writes them (`.pdiparams`); one of them: `save`.

A tensor is:

    uint32  0, a version
    uint64  levels of LoD, each: uint64 bytes, and those
    uint32  0, a version
    int32   bytes of a TensorDesc, and those
    bytes   of the elements, row-major
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from epl.errors import ArgumentError, Error, UnsupportedError
from epl.paddle import dtypes, schema, tensors


class _Reader:
    def __init__(self, content: bytes, where: str) -> None:
        self._content = content
        self._where = where
        self.at = 0

    def take(self, size: int) -> bytes:
        """The next bytes.

        Raises:
          Error: if there are not so many.
        """
        end = self.at + size
        if size < 0 or end > len(self._content):
            raise Error(
                f"{self._where} ends in the midst of a tensor: expected {size} bytes at {self.at}, found "
                f"{len(self._content) - self.at}"
            )
        taken, self.at = self._content[self.at : end], end
        return taken

    def number(self, kind: str) -> int:
        return int(struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0])

    def version(self) -> None:
        if (found := self.number("I")) != 0:
            raise Error(f"{self._where} has a tensor of version {found} at byte {self.at - 4}, expected 0")

    @property
    def is_over(self) -> bool:
        return self.at == len(self._content)


def read_tensors(content: bytes, where: str) -> list[np.ndarray[Any, Any]]:
    """The tensors of a file.

    Args:
      where: the content comes from, for errors.

    Raises:
      Error: for other content: says where it differs.
      UnsupportedError: for a tensor with levels of LoD.
    """
    reader = _Reader(content, where)
    found: list[np.ndarray[Any, Any]] = []
    while not reader.is_over:
        found.append(_read_tensor(reader, f"tensor {len(found)} of {where}"))
    return found


def read_stream(content: bytes, names: Sequence[str], where: str) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a file, which has so many, by these names.

    Raises:
      Error, UnsupportedError: as of `read_tensors`, and for another number of tensors.
    """
    return named(read_tensors(content, where), names, where)


def named(
    found: Sequence[np.ndarray[Any, Any]], names: Sequence[str], where: str
) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a file by names.

    Raises:
      Error: for another number of tensors.
    """
    if len(found) < len(names):
        raise Error(
            f'{where} has {len(found)} tensors, expected {len(names)}: "{names[len(found)]}" is missing'
        )
    if len(found) > len(names):
        raise Error(f"{where} has {len(found)} tensors, more than the {len(names)} of the program")
    return dict(zip(names, found, strict=True))


def _read_tensor(reader: _Reader, what: str) -> np.ndarray[Any, Any]:
    reader.version()
    if levels := reader.number("Q"):
        raise UnsupportedError(
            f"{what} has {levels} levels of LoD, expected none: sequences of different lengths are not "
            "supported, pad them"
        )
    reader.version()
    description = schema.parsed("VarType.TensorDesc", reader.take(reader.number("i")), what)
    if not description.IsInitialized():
        raise Error(f"{what} has a description without a dtype")
    dtype = dtypes.stored(description.data_type)
    if dtype is None:
        raise Error(f"{what} has a dtype of number {description.data_type}, which is not supported")
    shape = tuple(description.dims)
    tensors.check_shape(shape, what)
    return tensors.from_bytes(reader.take(math.prod(shape) * dtype.itemsize), dtype, shape, what)


def write_stream(values: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """Tensors as Paddle reads them; in the order of their names, for a program's parameters.

    Raises:
      ArgumentError: for a dtype that Paddle has no tensors of.
    """
    pieces = []
    kind = schema.message("VarType.TensorDesc")
    for index, tensor in enumerate(values):
        number = dtypes.NUMBERS.get(tensor.dtype.name)
        if number is None:
            raise ArgumentError(
                f"tensor {index} is of {tensor.dtype.name}, expected one of {', '.join(dtypes.NUMBERS)}"
            )
        tensors.check_shape(tensor.shape, f"tensor {index}")
        description = kind(data_type=number, dims=tensor.shape).SerializeToString()
        pieces += [struct.pack("<IQIi", 0, 0, 0, len(description)), description]
        pieces.append(tensors.to_bytes(tensor))
    return b"".join(pieces)
