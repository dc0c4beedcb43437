"""A library on cards that takes arrays by DLPack, as PyTorch and CuPy do: it reads them by the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


class Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class DType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
_python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
_names = {
    b"dltensor": (Managed, b"used_dltensor"),
    b"dltensor_versioned": (ManagedVersioned, b"used_dltensor_versioned"),
}
_driver = ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: Any) -> None:
    result = getattr(_driver, name)(*arguments)
    assert result == 0, (name, result)


def enter(card: int) -> None:
    """Makes a card that of the calling thread, as a library does."""
    context = ctypes.c_void_p()
    _call("cuInit", 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), card)
    _call("cuCtxSetCurrent", context)


def current() -> int | None:
    """The card of the calling thread; None if it has none."""
    context, device = ctypes.c_void_p(), ctypes.c_int()
    _call("cuCtxGetCurrent", ctypes.byref(context))
    if not context:
        return None
    _call("cuCtxGetDevice", ctypes.byref(device))
    return device.value


def free_bytes(card: int) -> int:
    """Of a card."""
    enter(card)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


class Taken:
    """A tensor out of a capsule."""

    def __init__(self, capsule: Any) -> None:
        """Takes it; nobody else can."""
        name = _python.PyCapsule_GetName(capsule)
        kind, used = _names[name]
        self._managed = kind.from_address(_python.PyCapsule_GetPointer(capsule, name))
        self._names = used  # which outlives the capsule
        assert _python.PyCapsule_SetName(capsule, used) == 0
        self.is_versioned = kind is ManagedVersioned
        self.flags = self._managed.flags if self.is_versioned else None
        tensor = self._managed.tensor
        self.device = (tensor.device.type, tensor.device.id)
        self.dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        self.shape = tuple(tensor.shape[: tensor.ndim])
        self.strides = tuple(tensor.strides[: tensor.ndim])
        self.data = (tensor.data or 0) + tensor.byte_offset

    def read(self, dtype: Any) -> np.ndarray[Any, Any]:
        """The elements, on a stream of the library's own."""
        enter(self.device[1])
        found: np.ndarray[Any, Any] = np.empty(self.shape, dtype)
        itemsize = found.dtype.itemsize
        for index in np.ndindex(self.shape[:-1]):
            offset = sum(at * step for at, step in zip(index, self.strides, strict=False)) * itemsize
            assert self.strides[-1] == 1
            _copy_to_host(self.data + offset, found[index])
        return found

    def give_back(self) -> None:
        """Calls the deleter."""
        deleter: Callable[..., Any] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._managed.deleter)
        deleter(ctypes.addressof(self._managed))


def _copy_to_host(address: int, row: np.ndarray[Any, Any]) -> None:
    stream, pinned = ctypes.c_void_p(), ctypes.c_void_p()
    _call("cuStreamCreate", ctypes.byref(stream), 1)
    _call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(row.nbytes), 0)
    _call("cuMemcpyDtoHAsync_v2", pinned, ctypes.c_uint64(address), ctypes.c_size_t(row.nbytes), stream)
    _call("cuStreamSynchronize", stream)
    ctypes.memmove(row.ctypes.data, pinned, row.nbytes)
    _call("cuMemFreeHost", pinned)
    _call("cuStreamDestroy_v2", stream)
