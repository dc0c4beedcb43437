"""Files of tensors, one behind the other, as Paddle's `save_combine` writes them (`.pdiparams`).

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

from epl.errors import Error
from epl.paddle import dtypes, schema


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


def read_stream(content: bytes, names: Sequence[str], where: str) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a file, which has so many, by these names.

    Raises:
      Error: for other content: says where it differs.
    """
    reader = _Reader(content, where)
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name in names:
        if reader.is_over:
            raise Error(f'{where} has {len(found)} tensors, expected {len(names)}: "{name}" is missing')
        found[name] = _read_tensor(reader, name, where)
    if not reader.is_over:
        raise Error(f"{where} has more than the {len(names)} tensors of the program")
    return found


def _read_tensor(reader: _Reader, name: str, where: str) -> np.ndarray[Any, Any]:
    reader.version()
    for _ in range(reader.number("Q")):
        reader.take(reader.number("Q"))
    reader.version()
    size = reader.number("i")
    description = schema.parsed("VarType.TensorDesc", reader.take(size), f'"{name}" in {where}')
    dtype = dtypes.stored(description.data_type)
    if dtype is None:
        raise Error(
            f'"{name}" in {where} has a dtype of number {description.data_type}, which is not supported'
        )
    count = math.prod(description.dims)
    return np.frombuffer(reader.take(count * dtype.itemsize), dtype).reshape(tuple(description.dims))


def write_stream(tensors: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """Tensors as Paddle reads them; in the order of their names, for a program's parameters."""
    pieces = []
    for tensor in tensors:
        kind = schema.message("VarType.TensorDesc")
        description = kind(data_type=dtypes.NUMBERS[tensor.dtype.name], dims=tensor.shape).SerializeToString()
        pieces += [struct.pack("<IQIi", 0, 0, 0, len(description)), description]
        pieces.append(np.ascontiguousarray(tensor).tobytes())
    return b"".join(pieces)
