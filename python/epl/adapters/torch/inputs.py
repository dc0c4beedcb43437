"""The arguments of a call: which are tensors, what the devices share, what is part of the program."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import jax
import numpy as np
import torch
from torch.utils import _pytree as pytree

from epl.adapters.torch.tensors import has_dtype, to_host
from epl.array import Array
from epl.errors import ArgumentError
from epl.statics import StaticValue

_WRITTEN_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_ARRAYS = (torch.Tensor, np.ndarray, np.generic, jax.Array, Array)


@dataclass(frozen=True)
class Inputs:
    """A call's arguments.

    batch, constant: arrays by the names of leaves, `ids` or `batch.ids`, that the devices share, or have
    whole. order: their names as the loss function gets them. static: all other leaves by their number, part
    of the program. spec: the tree of all leaves. differentiated: arrays with `requires_grad`, which the loss
    function differentiates itself.
    """

    batch: dict[str, Any]
    constant: dict[str, Any]
    axes: dict[str, int]
    order: tuple[str | None, ...]
    static: tuple[tuple[int, StaticValue], ...]
    spec: Any
    differentiated: frozenset[str] = frozenset()

    @property
    def key(self) -> Any:
        """What the program depends on, besides shapes and dtypes."""
        return self.order, self.static, tuple(self.axes.items()), repr(self.spec), self.differentiated

    @property
    def names(self) -> list[str]:
        """The arrays, in the order of the arguments."""
        return [name for name in self.order if name is not None]

    def rebuild(self, arrays: Sequence[Any]) -> Any:
        """The tree of arguments, with these in place of the arrays."""
        static, rest = dict(self.static), iter(arrays)
        flat = [static[i].value if name is None else next(rest) for i, name in enumerate(self.order)]
        return pytree.tree_unflatten(flat, self.spec)


class Parameters:
    """The parameters of a loss function, without the module, and which of them are batches.

    Args:
      batch: names, or a dict from names to the dimension that counts samples; None: all, along dimension 0.

    Raises:
      ArgumentError: for a name that the function does not have.
    """

    def __init__(self, function: Callable[..., Any], batch: Any) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters:
            raise ArgumentError(
                f"{self.name} must have the module as its first parameter, found no parameters"
            )
        self._signature = inspect.Signature(parameters[1:])
        self._axes = _axes(batch)
        of_any_name = (p.name for p in parameters[1:] if p.kind is inspect.Parameter.VAR_KEYWORD)
        self._keywords = next(of_any_name, None)
        names = [parameter.name for parameter in parameters[1:]]
        for name in self._axes or ():
            if name not in names and self._keywords is None:
                raise ArgumentError(
                    f"batch names {name!r}, but {self.name} has, after the module, "
                    f"the parameters ({', '.join(names)})"
                )

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Inputs:
        """Matches a call's arguments with the parameters.

        Raises:
          ArgumentError: if they do not match, or what is no tensor cannot be part of the program.
        """
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        pairs, spec = pytree.tree_flatten_with_path(dict(bound.arguments))
        split: tuple[dict[str, Any], dict[str, Any]] = {}, {}
        axes: dict[str, int] = {}
        order: list[str | None] = []
        static, differentiated = [], []
        for index, (path, leaf) in enumerate(pairs):
            steps = self._steps(path)
            name = ".".join(steps)
            if not isinstance(leaf, _ARRAYS):
                static.append((index, _static(name, leaf)))
                order.append(None)
                continue
            order.append(name)
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                differentiated.append(name)
            axis = self._axis(steps[0], leaf)
            split[axis is None][name] = _host(name, leaf)
            if axis is not None:
                axes[name] = axis
        return Inputs(*split, axes, tuple(order), tuple(static), spec, frozenset(differentiated))

    def _steps(self, path: Sequence[Any]) -> list[str]:
        """The steps of the path to a leaf; one that is passed by a keyword of any name begins with that."""
        steps = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
        return steps[1:] if steps[0] == self._keywords else steps

    def _axis(self, name: str, leaf: Any) -> int | None:
        """The batch dimension of an array of a parameter."""
        if self._axes is None:
            return 0 if leaf.ndim else None
        return self._axes.get(name)

    def of_tensors(self, inputs: Inputs) -> Callable[[Any, Sequence[Any]], Any]:
        """The loss function, called with the module and the tensors of a call."""

        @functools.wraps(self.function)
        def call(module: Any, tensors: Sequence[Any]) -> Any:
            bound = inspect.BoundArguments(self._signature, dict(inputs.rebuild(tensors)))
            return self.function(module, *bound.args, **bound.kwargs)

        return call


def _host(name: str, value: Any) -> Any:
    """A tensor or array as one of NumPy's, or as the `epl.Array` that it is.

    Raises:
      ArgumentError: for a tensor that is no array of numbers.
    """
    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, Array) else np.asarray(value)
    if instead := _no_array(value):
        raise ArgumentError(f'"{name}" must be a tensor that is an array of numbers, found {instead}')
    return to_host(value)


def _no_array(tensor: Any) -> str:
    """What a tensor is that has no elements of its own in order, and what to do; else ""."""
    if tensor.is_nested:
        return "a nested one: pad it, as by .to_padded_tensor(0.0), and give a mask with it"
    if tensor.layout != torch.strided:
        return f"one of layout {str(tensor.layout).removeprefix('torch.')}: convert it, as by .to_dense()"
    if tensor.is_meta:
        return "one without elements, on device meta"
    if tensor.is_quantized or not has_dtype(tensor.dtype):
        convert = ".dequantize()" if tensor.is_quantized else ".float()"
        return f"one of {tensor.dtype}: convert it, as by {convert}"
    return ""


def _axes(batch: Any) -> dict[str, int] | None:
    if batch is None:
        return None
    if isinstance(batch, Mapping):
        return {str(name): axis for name, axis in batch.items() if axis is not None}
    names = (batch,) if isinstance(batch, str) else tuple(batch)
    if strange := next((name for name in names if not isinstance(name, str)), None):
        raise ArgumentError(f"batch must be names of parameters of the loss function, found {strange!r}")
    return dict.fromkeys(names, 0)


def _static(name: str, value: Any) -> StaticValue:
    """A leaf that is part of the program.

    Raises:
      ArgumentError: if it can change without a call seeing that: it is not hashable, compares by identity, or
        holds tensors.
    """
    kind = type(value).__name__
    if isinstance(value, torch.nn.Module):
        raise ArgumentError(
            f'"{name}" must be a tensor or a hashable Python value, found the module {kind}: make it a part '
            "of the one that is trained, say both in an nn.ModuleDict; what no optimizer has stays as it is"
        )
    if _holds_tensors(value, set()):
        register = f", or call torch.export.register_dataclass({kind}) once" if is_dataclass(value) else ""
        raise ArgumentError(
            f'"{name}" holds tensors where a call does not see them, found {kind}: give them in a dict or '
            f"a tuple{register}"
        )
    if not isinstance(value, Hashable) or (_compares_by_identity(type(value)) and not callable(value)):
        raise ArgumentError(
            f'"{name}" must be a tensor or a hashable Python value, found {kind}: give what the '
            "step needs of it in a dict or a tuple"
        )
    return StaticValue(value)


def _compares_by_identity(kind: type) -> bool:
    """Of a class written in Python: None, say, and dtypes are what they are."""
    hashes: list[Any] = [kind.__hash__, object.__hash__]
    return hashes[0] is hashes[1] and bool(kind.__flags__ & _WRITTEN_IN_PYTHON)


def _holds_tensors(value: Any, seen: set[int]) -> bool:
    """Whether tensors are somewhere in what an object consists of."""
    if id(value) in seen:
        return False
    seen.add(id(value))
    leaves = pytree.tree_leaves(_attributes(value))
    return any(isinstance(leaf, _ARRAYS) or _holds_tensors(leaf, seen) for leaf in leaves)


def _attributes(value: Any) -> list[Any]:
    if isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return []  # what a function reads besides its arguments is of the program
    named = [getattr(cls, "__slots__", ()) for cls in type(value).__mro__]
    slots = [name for names in named for name in ([names] if isinstance(names, str) else names)]
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
