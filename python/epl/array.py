"""`epl.Array`: a state of a step, say a parameter, that stays on EPL's devices between steps.

It goes wherever JAX and NumPy take an array: `jax.jit`, `jnp`, `np.asarray`, `jax.tree`, arithmetic. There
its contents are copied to JAX's first CPU device. As the argument of a parallelized step it is passed as it
is, and a step that updates it takes its memory: using it afterwards is a `DonatedError`.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl import runtime
from epl.adapters.jax import hooks
from epl.sharding import Sharding


class Array:
    """The value of a state after a step, perhaps not computed yet.

    Reading it waits for the step, and raises that step's error if it has failed.
    """

    __slots__ = ("__weakref__", "buffer", "dtype", "shape")
    weak_type = False
    __array_priority__ = 100  # numpy leaves mixed arithmetic to us, as it does to jax.Array

    def __init__(self, buffer: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """Wraps a `StateBuffer` of the runtime; `dtype` may be the unsigned type of the same size."""
        self.buffer = buffer
        self.dtype = dtype
        self.shape = shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, of one copy."""
        return self.size * self.dtype.itemsize

    @property
    def device_sharding(self) -> Sharding | None:
        """How the devices hold it; None where all have copies, or where it is on one of several meshes."""
        found = self.buffer.sharding
        sharding = None if found is None else Sharding(*found)
        return sharding if sharding is not None and any(sharding.dims) else None

    def block_until_ready(self) -> Array:
        """Waits for the step that makes the value; raises its error."""
        self._read(self.buffer.wait)
        return self

    def is_ready(self) -> bool:
        """Whether the step that makes the value has ended, well or not; does not wait."""
        return bool(self.buffer.is_ready)

    def is_deleted(self) -> bool:
        """Whether a step has taken the memory, as `jax.Array.is_deleted`."""
        return bool(self.buffer.is_donated)

    def copy(self) -> Array:
        """A copy on the same devices, which outlives the donation of this array."""
        return Array(self._read(self.buffer.copy), self.dtype, self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The value; a read-only view where the devices hold whole copies, unless `copy` is true."""
        value: np.ndarray[Any, Any] = self._read(self.buffer.numpy).view(self.dtype)
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return value.astype(dtype)
        return np.array(value) if copy else value

    def to_jax(self) -> jax.Array:
        """The value in memory of its own: a view would keep the next step from working in place."""
        value: jax.Array = jnp.array(np.asarray(self), copy=True)
        return value

    def __jax_array__(self) -> jax.Array:
        """What `jnp` functions call; `jax.jit` and its like use the handlers registered below."""
        return self.to_jax()

    def _read(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except runtime.module().Error as error:
            raise runtime.translated(error) from None

    def __getattr__(self, name: str) -> Any:
        """The methods of `jax.Array` (`sum`, `astype`, `at`, ...), on a copy."""
        if name.startswith("_") or not hasattr(jax.Array, name):
            raise AttributeError(f'"epl.Array" has no attribute "{name}"')
        return getattr(self.to_jax(), name)

    def __getitem__(self, index: Any) -> jax.Array:
        return self.to_jax()[index]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[jax.Array]:
        return iter(self.to_jax())

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __index__(self) -> int:
        return operator.index(np.asarray(self)[()])

    def __reduce__(self) -> tuple[Callable[[Any], jax.Array], tuple[np.ndarray[Any, Any]]]:
        """Pickles the value; it comes back as a `jax.Array`: devices do not outlive a process."""
        return jnp.asarray, (np.array(self),)

    def __repr__(self) -> str:
        kind = f"{self.dtype.name}[{','.join(map(str, self.shape))}]"
        if self.buffer.is_donated:
            return f"epl.Array({kind}, donated)"
        return f"epl.Array({np.array2string(np.asarray(self), separator=', ', prefix='epl.Array(')}, {kind})"

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self)[()] if self.ndim == 0 else np.asarray(self), spec)

    __hash__ = None  # type: ignore[assignment]


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Array, *operands: Any) -> Any:
        return getattr(self.to_jax(), name)(*map(as_jax, operands))

    method.__name__ = name
    return method


_UNARY = ("neg", "pos", "abs", "invert", "round")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_BITS = ("and", "or", "xor", "lshift", "rshift")
_REFLECTED = tuple(f"r{name}" for name in (*_ARITHMETIC, *_BITS))
for _name in (*_UNARY, *_COMPARISONS, *_ARITHMETIC, *_BITS, *_REFLECTED):
    setattr(Array, f"__{_name}__", _forward(f"__{_name}__"))


def as_jax(value: Any) -> Any:
    """An `epl.Array` as a `jax.Array`, anything else as it is."""
    return value.to_jax() if isinstance(value, Array) else value


hooks.register_array(Array, Array.to_jax)

_flax_knows = False


def register_with_flax() -> None:
    """Lets `flax.serialization` write states, once the program uses flax at all; called with every step."""
    global _flax_knows
    if _flax_knows or "flax.serialization" not in sys.modules:
        return
    serialization: Any = sys.modules["flax.serialization"]
    restore = lambda _, value: jnp.asarray(value)  # noqa: E731
    serialization.register_serialization_state(Array, np.array, restore, override=True)
    _flax_knows = True
