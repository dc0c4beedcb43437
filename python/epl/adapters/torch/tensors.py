"""Between tensors of torch and arrays of the host; trees by the steps of names in a module."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch

from epl.errors import ArgumentError

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
_FLOATS = ("bfloat16", "float16", "float32", "float64", "complex64", "complex128")
_DTYPES = frozenset(["bool", *_INTEGERS, *_FLOATS])


@functools.cache
def jax_dtype(dtype: Any) -> Any:
    """JAX's dtype of the name that torch's has.

    Raises:
      ArgumentError: if there is none.
    """
    if not has_dtype(dtype):
        raise ArgumentError(f"tensors of {dtype} are not supported: convert them, as by .float()")
    return jnp.dtype(_name(dtype))


def has_dtype(dtype: Any) -> bool:
    """Whether steps take tensors of a dtype."""
    return _name(dtype) in _DTYPES


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


@functools.cache
def torch_dtype(dtype: Any) -> Any:
    """Torch's dtype of the name that NumPy's has.

    Raises:
      ArgumentError: if there is none.
    """
    found = getattr(torch, np.dtype(dtype).name, None)
    if not isinstance(found, torch.dtype):
        raise ArgumentError(f"torch has no tensors of {np.dtype(dtype).name}")
    return found


def to_host(tensor: Any) -> np.ndarray[Any, Any]:
    """A tensor's elements, where it keeps them if that is the host's memory."""
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype is torch.bfloat16:
        plain = plain.view(torch.int16)
    jax_dtype(tensor.dtype)
    array: np.ndarray[Any, Any] = plain.numpy()
    return array.view(jnp.bfloat16) if tensor.dtype is torch.bfloat16 else array


def copied(tensor: Any) -> np.ndarray[Any, Any]:
    """A tensor's elements, in memory of their own."""
    return np.array(to_host(tensor))


def to_torch(array: Any) -> Any:
    """A tensor of its own memory with an array's elements."""
    host = np.array(array)
    if host.dtype == jnp.bfloat16:
        return torch.from_numpy(host.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(host)


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A tree by the steps of dotted names: `{"h.0.weight": w}` as `{"h": {"0": {"weight": w}}}`."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        functools.reduce(lambda node, step: node.setdefault(step, {}), path, tree)[last] = value
    return tree


def lookup(tree: Mapping[str, Any], name: str) -> Any:
    """The leaf of a nested tree that has a dotted name."""
    return functools.reduce(lambda node, step: node[step], name.split("."), tree)
