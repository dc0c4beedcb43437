"""Scopes: the variables of programs by name, whose values stay on the devices between runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from epl.errors import ArgumentError
from epl.paddle.description import Variable
from epl.paddle.device_values import Local


class Tensor:
    """The value of a variable of a scope, or a fetched value: what Fluid calls a LoDTensor.

    It is an array to NumPy: `np.array(tensor)`.
    """

    def __init__(self, values: dict[str, Any], name: str, dtype: np.dtype[Any] | None = None) -> None:
        self._values = values
        self._name = name
        self._dtype = dtype

    def set(self, value: Any, place: object = None) -> None:
        """Sets the value; where it is to be (`place`) makes no difference."""
        del place
        self._values[self._name] = np.array(value, self._dtype)

    def shape(self) -> list[int]:
        """The extents."""
        return list(np.shape(self.numpy()))

    def lod(self) -> list[list[int]]:
        """None: sequences of different lengths are not supported."""
        return []

    def set_lod(self, lod: list[list[int]]) -> None:
        """Takes no offsets.

        Raises:
          ArgumentError: for sequences of different lengths.
        """
        if lod:
            raise ArgumentError(
                f'"{self._name}": sequences of different lengths (LoD) are not supported: pad them'
            )

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value, the first device's if each has its own, in the dtype that the program says.

        Raises:
          ArgumentError: for a variable that was never set.
        """
        value = self._values.get(self._name)
        if value is None:
            raise ArgumentError(f'variable "{self._name}" has no value: run the startup program first')
        array = np.asarray(value.first if isinstance(value, Local) else value)
        return array if self._dtype is None else array.astype(self._dtype, copy=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype, copy=True if copy is None else copy)

    def __str__(self) -> str:
        return str(self.numpy())


class ScopeVariable:
    """A variable of a scope."""

    def __init__(self, values: dict[str, Any], name: str, dtype: np.dtype[Any] | None) -> None:
        self.name = name
        self._tensor = Tensor(values, name, dtype)

    def get_tensor(self) -> Tensor:
        """Its value, to read and to set."""
        return self._tensor


class Scope:
    """Variables by name.

    values: of those that have one, arrays or `Local`; a run replaces what it changes.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}
        self._declared: Mapping[str, Variable] = {}

    def declare(self, variables: Mapping[str, Variable]) -> None:
        """Notes the dtypes that a program has for its variables: EPL computes 64 bits in 32."""
        if variables is self._declared:  # one program runs again and again
            return
        self._declared = variables
        self._dtypes.update({name: each.dtype for name, each in variables.items() if each.persistable})

    def var(self, name: str) -> ScopeVariable:
        """The variable of a name, made if there is none."""
        self.values.setdefault(name, None)
        return ScopeVariable(self.values, name, self._dtypes.get(name))

    def find_var(self, name: str) -> ScopeVariable | None:
        """The variable of a name, None if there is none."""
        return self.var(name) if name in self.values else None

    def new_scope(self) -> Scope:
        """Another scope; it does not see this one's variables."""
        return Scope()

    def drop_kids(self) -> None:
        """Does nothing: what runs need for themselves is freed with their executors."""


_current = Scope()


def global_scope() -> Scope:
    """The scope in which programs run unless another one is given."""
    return _current


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Within, `global_scope()` is another scope.

    Raises:
      ArgumentError: for what is no scope.
    """
    global _current
    if not isinstance(scope, Scope):
        raise ArgumentError(f"scope_guard takes a scope, found {type(scope).__name__}")
    outside, _current = _current, scope
    try:
        yield
    finally:
        _current = outside
