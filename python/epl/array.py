"""`epl.Array`: a state of a step, say a parameter, that stays on EPL's devices between steps.

It is a `jax.Array` and goes wherever JAX, NumPy and the libraries round them take one. What JAX computes
with it is done on JAX's devices; where EPL's devices hold whole copies, JAX reads one of them without making
its own. As the argument of a parallelized step it is passed as it is, and a step that updates it takes its
memory: using it afterwards is a `DonatedError`.

In one of several processes it may be in parts that others have: then reading its elements is an error that
names `epl.gather`, and what JAX computes with it is a computation of all processes, which all must call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl import runtime
from epl.adapters.jax import hooks
from epl.adapters.jax.shardings import jax_sharding
from epl.sharding import Sharding


class Shard(hooks.SHARD_TYPE):  # type: ignore[misc]
    """A box of an array in the memory of one device of this process, as JAX has its shards.

    device: JAX's, the one of EPL's number where JAX has as many. rank: EPL's number of the device, among all
    of the run. index: the box, a slice for each dimension. replica_id: how many devices before this one have
    the box. data: a `jax.Array` that reads the elements where they lie: while it lives, no step
    works in that memory.
    """

    rank: int

    @classmethod
    def of(cls, array: Array, rank: int, box: Any, data: Any, copy: int) -> Shard:
        """What `StateBuffer.shards` of the runtime says."""
        everywhere, here = jax.devices("cpu"), jax.local_devices(backend="cpu")
        device = everywhere[rank] if rank < len(everywhere) and everywhere[rank] in here else here[0]
        local = here.index(device)
        placed = hooks.adopter(data.shape, array.dtype, local=local)(data)
        shard = cls(device, array.sharding, array.shape, placed)
        shard.index = tuple(slice(*bounds) for bounds in box)
        shard.replica_id = copy
        shard.rank = rank
        return shard


class Array(jax.Array):
    """The value of a state after a step, perhaps not computed yet.

    Reading it waits for the step, and raises that step's error if it has failed. What is not defined here, it
    does as the `jax.Array` of the same value.
    """

    __slots__ = ("__weakref__", "buffer", "dtype", "shape")
    dtype: np.dtype[Any]  # of an object, where JAX's class has a property
    shape: tuple[int, ...]
    weak_type = False
    __array_priority__ = 100  # numpy leaves mixed arithmetic to us, as it does to jax.Array
    __hash__ = None  # type: ignore[assignment]

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
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, of one copy."""
        return self.size * self.dtype.itemsize

    @property
    def aval(self) -> Any:
        """The array as JAX sees it when it traces: its shape and dtype."""
        return hooks.shaped_array(self.shape, self.dtype)

    @property
    def device_sharding(self) -> Sharding | None:
        """How the devices hold it; None where all have copies, or where it is on one of several meshes."""
        sharding = self._held
        return None if sharding is None or sharding.is_whole_everywhere else sharding

    @property
    def _held(self) -> Sharding | None:
        found = self.buffer.sharding
        return None if found is None else Sharding(*found)

    @property
    def sharding(self) -> jax.sharding.Sharding:
        """How EPL's devices hold it, over JAX's CPU devices where there are as many.

        Else a `SingleDeviceSharding` that says how it is held.
        """
        return jax_sharding(self._held, self.shape)

    @property
    def device(self) -> Any:
        """JAX's device, or the sharding if it is on several."""
        devices = self.devices()
        return self.sharding if len(devices) > 1 else next(iter(devices))

    def devices(self) -> set[jax.Device]:
        """The devices of `sharding`."""
        return set(self.sharding.device_set)

    @property
    def committed(self) -> bool:
        """Whether JAX computes with it on its own devices only: where these are several."""
        return len(self.devices()) > 1

    _committed = committed  # which JAX reads

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices are of this process."""
        return not self.buffer.is_divided

    @property
    def is_whole_everywhere(self) -> bool:
        """Whether every process has all of it."""
        held = None if self.is_fully_addressable else self._held
        return self.is_fully_addressable or (held is not None and held.is_whole_everywhere)

    @property
    def addressable_shards(self) -> list[Shard]:
        """What the devices of this process have, device by device, after waiting for the step.

        Where a dimension of several segments is split, a device has several boxes.
        """
        return [Shard.of(self, *found) for found in self._read(self.buffer.shards)]

    def addressable_data(self, index: int) -> jax.Array:
        """That of shard `index`."""
        data: jax.Array = self.addressable_shards[index].data
        return data

    def block_until_ready(self) -> Array:
        """Waits for the step that makes the value; raises its error."""
        self._read(self.buffer.wait)
        return self

    def is_ready(self) -> bool:
        """Whether the step that makes the value has ended, well or not; does not wait."""
        return bool(self.buffer.is_ready)

    def is_deleted(self) -> bool:
        """Whether its memory is gone: to a step, or by `delete`."""
        return bool(self.buffer.is_deleted)

    def delete(self) -> None:
        """Lets go of the memory now. Steps that read it already are not disturbed."""
        self.buffer.delete()

    def copy(self) -> Array:
        """A copy on the same devices, which outlives the donation of this array."""
        return Array(self._read(self.buffer.copy), self.dtype, self.shape)

    def snapshot(self) -> Array:
        """The value for somebody who reads it later: it outlives the donation of this array.

        Nothing is copied now, nor waited for; a step that consumes this array copies it, instead of writing
        in place, while a snapshot lives.
        """
        return Array(self._read(self.buffer.snapshot), self.dtype, self.shape)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def copy_to_host_async(self) -> None:
        """Does nothing: the value is in the host's memory."""

    def __array__(self, dtype: Any = None, context: None = None, copy: bool | None = None) -> Any:
        """The value; a read-only view where the devices hold whole copies, unless `copy` is true."""
        value: np.ndarray[Any, Any] = self._read(self.buffer.numpy).view(self.dtype)
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return value.astype(dtype)
        return np.array(value) if copy else value

    def to_jax(self) -> jax.Array:
        """The value on JAX's first CPU device.

        Where EPL's devices hold whole copies it is read where it lies: while the result lives, no step works
        in that memory.
        """
        return hooks.adopter(self.shape, self.dtype)(np.asarray(self))

    def _placed(self) -> jax.Array:
        """The value as `sharding` says."""
        sharding = self.sharding
        if not self.is_fully_addressable and len(sharding.device_set) > 1:
            shards = [shard.data for shard in self.addressable_shards]
            made: jax.Array = jax.make_array_from_single_device_arrays(self.shape, sharding, shards)
            return made
        value = self.to_jax()
        return jax.device_put(value, sharding) if self.committed else value

    def __jax_array__(self) -> jax.Array:
        """What `jnp` functions call; `jax.jit` and its like use the handlers registered below."""
        return self._placed()

    def _read(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except runtime.module().Error as error:
            raise runtime.translated(error) from None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __reduce__(self) -> tuple[Callable[[Any], jax.Array], tuple[np.ndarray[Any, Any]]]:
        """Pickles the value; it comes back as a `jax.Array`: devices do not outlive a process."""
        return jnp.asarray, (np.array(self),)

    def _is_elsewhere(self) -> bool:
        """Whether other processes have parts of it, so that its elements can't be shown here."""
        return not self.is_deleted() and not self._read(lambda: self.buffer.is_here)

    def __repr__(self) -> str:
        kind = f"{self.dtype.name}[{','.join(map(str, self.shape))}]"
        if self.is_deleted():
            return f"epl.Array({kind}, {'donated' if self.buffer.is_donated else 'deleted'})"
        if self._is_elsewhere():
            return f"epl.Array({kind}, in parts that other processes have)"
        return f"epl.Array({np.array2string(np.asarray(self), separator=', ', prefix='epl.Array(')}, {kind})"

    def __str__(self) -> str:
        return repr(self) if self._is_elsewhere() else str(np.asarray(self))

    def __format__(self, spec: str) -> str:
        if self._is_elsewhere():
            return format(repr(self), spec if self.ndim else "")
        return format(np.asarray(self)[()] if self.ndim == 0 else np.asarray(self), spec)


def as_jax(value: Any) -> Any:
    """An `epl.Array` as a `jax.Array` of JAX's own, anything else as it is."""
    return value._placed() if isinstance(value, Array) else value


# Methods that read elements in this process alone.
_SCALARS = ("__float__", "__int__", "__bool__", "__complex__", "__index__")
_READERS = frozenset((*_SCALARS, "__iter__", "__contains__", "item", "tolist", "tobytes"))


def _forward_method(name: str) -> Callable[..., Any]:
    def method(self: Array, *operands: Any, **options: Any) -> Any:
        value = self.to_jax() if name in _READERS and self._is_elsewhere() else self._placed()
        return getattr(value, name)(*map(as_jax, operands), **options)

    method.__name__ = name
    return method


def _forward_property(name: str) -> property:
    return property(lambda self: getattr(self._placed(), name))


for _name, _is_property in hooks.array_attributes(set(vars(Array))):
    setattr(Array, _name, _forward_property(_name) if _is_property else _forward_method(_name))

hooks.register_array(Array, Array._placed)
