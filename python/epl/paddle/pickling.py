"""Pickles of dicts from names to arrays, as Paddle reads them.

Written opcode by opcode: pickles of arrays of NumPy 2 name modules that the NumPy of Paddle 2 lacks. What is
written here both read, and it has the same bytes with whichever it is written.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from epl.paddle import tensors

_PROTOCOL = 4
_NEW_ARRAY = b"".join(  # numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), b"b")
    (
        pickle.GLOBAL + b"numpy.core.multiarray\n_reconstruct\n",
        pickle.GLOBAL + b"numpy\nndarray\n",
        pickle.BININT1 + b"\0" + pickle.TUPLE1,
        pickle.SHORT_BINBYTES + b"\1b",
        pickle.TUPLE3 + pickle.REDUCE,
    )
)
_NONE = pickle.BININT + struct.pack("<i", -1)  # of what only dtypes with fields have


def write(values: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """A pickle of a dict of arrays of plain dtypes."""
    pieces = [pickle.PROTO + bytes([_PROTOCOL]), pickle.EMPTY_DICT, pickle.MARK]
    for name, value in values.items():
        pieces += [_text(name), *_array(value)]
    return b"".join([*pieces, pickle.SETITEMS, pickle.STOP])


def _text(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return pickle.BINUNICODE + struct.pack("<I", len(content)) + content


def _array(value: np.ndarray[Any, Any]) -> list[bytes]:
    content = tensors.to_bytes(value)
    shape = b"".join(pickle.LONG1 + b"\x08" + struct.pack("<q", extent) for extent in value.shape)
    return [
        _NEW_ARRAY,
        pickle.MARK + pickle.BININT1 + b"\1",  # the state: a version, shape, dtype, order, bytes
        pickle.MARK + shape + pickle.TUPLE,
        _dtype(value.dtype),
        pickle.NEWFALSE,
        pickle.BINBYTES8 + struct.pack("<Q", len(content)),
        content,
        pickle.TUPLE + pickle.BUILD,
    ]


def _dtype(dtype: np.dtype[Any]) -> bytes:
    order = "|" if dtype.itemsize == 1 else "<"
    made = pickle.GLOBAL + b"numpy\ndtype\n" + _text(f"{dtype.kind}{dtype.itemsize}")
    made += pickle.NEWFALSE + pickle.NEWTRUE + pickle.TUPLE3 + pickle.REDUCE
    state = pickle.BININT1 + b"\3" + _text(order) + pickle.NONE * 3 + _NONE * 2 + pickle.BININT1 + b"\0"
    return made + pickle.MARK + state + pickle.TUPLE + pickle.BUILD
