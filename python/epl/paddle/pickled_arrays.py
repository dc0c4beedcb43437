"""The globals that pickles of dicts of arrays name, and what a call of each of them means here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epl.paddle import tensors

_KINDS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")  # of NumPy
_CORE = ("numpy.core.multiarray", "numpy._core.multiarray")  # before NumPy 2, and from it on


@dataclass(frozen=True, eq=False)
class Global:
    """What a pickle may call, as a method of `Calls`; None for what it may only name."""

    call: str | None


@dataclass(frozen=True, eq=False)
class Dtype:
    """A dtype, of little-endian numbers if a pickle says anything else of it."""

    value: np.dtype[Any]


@dataclass(eq=False)
class Array:
    """An array, without a value until the pickle has said it."""

    value: np.ndarray[Any, Any] | None = None


_NDARRAY = Global(None)
GLOBALS = {
    **{(module, "_reconstruct"): Global("_new_array") for module in _CORE},
    **{(module, "scalar"): Global("_new_scalar") for module in _CORE},
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): Global("_new_dtype"),
    ("_codecs", "encode"): Global("_encode"),
    ("collections", "OrderedDict"): Global("_new_dict"),
    ("builtins", "tuple"): Global("_new_tuple"),  # a tensor with its name, since 2.1
    ("__builtin__", "tuple"): Global("_new_tuple"),
}


class Calls:
    """What globals are called for.

    Args:
      size: of the pickle, in bytes.
      what: the pickle is, for errors.
    """

    def __init__(self, size: int, what: str) -> None:
        self._left_to_encode = size
        self._what = what

    def call(self, function: Any, arguments: Any) -> Any:
        """What a global makes of arguments.

        Raises:
          ValueError: for other arguments than pickles of arrays have.
        """
        if (name := expect(function, Global).call) is None:
            raise ValueError("a call of numpy.ndarray")
        given = expect(arguments, tuple)
        return getattr(self, name)(*given[:3], *[None] * (3 - len(given)))

    def build(self, built: Any, state: Any) -> None:
        """Gives an array its value, or checks what is said of a dtype.

        Raises:
          ValueError, Error: for other states than NumPy writes.
        """
        if isinstance(built, Array):
            _, shape, dtype, is_fortran, content = expect(state, tuple)
            built.value = self._value(shape, dtype, content, is_fortran is True)
            return
        _, order, *parts = expect(state, tuple)
        is_plain = isinstance(built, Dtype) and all(each is None for each in parts[:3])
        if not is_plain or expect(order, str) not in ("<", "|"):
            raise ValueError("a dtype that is no plain one of little-endian numbers")

    def _value(self, shape: Any, dtype: Any, content: Any, is_fortran: bool = False) -> np.ndarray[Any, Any]:
        extents = [expect(extent, int) for extent in expect(shape, tuple)]
        kind = expect(dtype, Dtype).value
        return tensors.from_bytes(_bytes(content), kind, extents, f"an array in {self._what}", is_fortran)

    def _new_array(self, kind: Any, *_: Any) -> Array:
        if kind is not _NDARRAY:
            raise ValueError("an array of another class than numpy.ndarray")
        return Array()

    def _new_dtype(self, text: Any, *_: Any) -> Dtype:
        if expect(text, str) not in _KINDS:
            raise ValueError(f'dtype "{text[:40]}", expected one of {", ".join(_KINDS)}')
        return Dtype(np.dtype(text))

    def _new_scalar(self, dtype: Any, content: Any, _: Any) -> Any:
        return self._value((), dtype, content)[()]

    def _encode(self, text: Any, encoding: Any, _: Any) -> bytes:
        """Bytes, as protocol 2 writes them: each text that is encoded stands in the file."""
        if expect(encoding, str) != "latin1":
            raise ValueError("bytes in another encoding than latin1")
        self._left_to_encode -= len(expect(text, str))
        if self._left_to_encode < 0:
            raise ValueError("a text that is encoded again and again")
        return _bytes(text)

    def _new_dict(self, pairs: Any, *_: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in () if pairs is None else expect(pairs, list):
            key, value = expect(pair, list)
            fill(found, [key], [value])
        return found

    def _new_tuple(self, values: Any, *_: Any) -> Any:
        return expect(values, tuple)


def expect(value: Any, kind: type) -> Any:
    """A value of exactly this type.

    Raises:
      ValueError: for one of another type.
    """
    if type(value) is not kind:
        raise ValueError(f"a value of type {type(value).__name__}, expected {kind.__name__}")
    return value


def fill(items: dict[str, Any], keys: list[Any], values: list[Any]) -> None:
    """Enters values into a dict.

    Raises:
      ValueError: for keys that are no texts, before they are hashed, or stand there already.
    """
    for key, value in zip(keys, values, strict=True):
        if expect(key, str) in items:
            raise ValueError(f'"{key[:100]}" twice')
        items[key] = value


def _bytes(value: Any) -> bytes:
    """Bytes, which pickles of Python 2 have as texts."""
    return value.encode("latin1") if isinstance(value, str) else bytes(expect(value, bytes))
