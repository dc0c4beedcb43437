"""`epl.Array`: a state of a step, say a parameter, that stays on EPL's devices between steps.

It is a `jax.Array` and goes wherever JAX, NumPy and the libraries round them take one. What JAX computes
with it is done on JAX's devices; where EPL's devices hold whole copies, JAX reads one of them without making
its own. As the argument of a parallelized step it is passed as it is, and a step that updates it takes its
memory: using it afterwards is a `DonatedError`.

In one of several processes it may be in parts that others have: then reading its elements is an error that
names `epl.gather`, and what JAX computes with it is a computation of all processes, which all must call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from epl import dlpack, runtime
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
    def of(cls, array: Array, rank: int, box: Any, copy: int) -> Self:
        """One of what `StateBuffer.shards` of the runtime says. JAX calls the constructor, for keys."""
        everywhere, here = jax.devices("cpu"), jax.local_devices(backend="cpu")
        has = rank < len(everywhere) and everywhere[rank] in here
        made = cls(everywhere[rank] if has else here[0], array.sharding, array.shape)
        made.index = tuple(slice(*bounds) for bounds in box)
        made.replica_id = copy
        made.rank = rank
        return made

    def holding(self, elements: Any, dtype: Any) -> Self:
        """This shard, whose data are these elements where they lie."""
        self._data = self._adopt(elements, dtype)
        return self

    def _adopt(self, elements: Any, dtype: Any) -> Any:
        local = jax.local_devices(backend="cpu").index(self.device)
        return hooks.adopter(elements.shape, dtype, local=local)(elements)


class CardShard(Shard):
    """A box of an array in the memory of a card.

    `torch.from_dlpack(shard)` takes it there. data: a copy in memory of the host, made when it is asked for.
    While the shard lives, no step works in the memory that it is of.
    """

    _block: dlpack.Block
    _read: Callable[[], Any]

    @classmethod
    def of_block(cls, block: dlpack.Block, rank: int, box: Any, copy: int, read: Callable[[], Any]) -> Self:
        """What `StateBuffer.blocks` of an array says of a block; `read`: its elements."""
        made = cls.of(block.array, rank, box, copy)
        del made._data  # until somebody asks
        made._block = block
        made._read = read
        return made

    @functools.cached_property
    def _data(self) -> Any:
        """What JAX's `data` gives, and its keys ask for."""
        return self._adopt(self._read(), self._block.array.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        """As `Array.__dlpack_device__`, of this shard."""
        return self._block.device

    def __dlpack__(self, **options: Any) -> Any:
        """As `Array.__dlpack__`, of this shard."""
        return dlpack.export(lambda: self._block, lambda: self.data, **options)


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
        """JAX's device, on which JAX computes with it, or the sharding if it is on several."""
        devices = self.sharding.device_set
        return self.sharding if len(devices) > 1 else next(iter(devices))

    def devices(self) -> set[Any]:
        """The devices that hold it: those of `sharding`, or, of cards, an `epl.dlpack.CudaDevice` for each.

        A device on a card is written as that, `cuda:0`; several virtual devices of one card (`cuda:0x2`) have
        each a number of its own, `id`.
        """
        return set(self._cards or self.sharding.device_set)

    @property
    def _cards(self) -> list[dlpack.CudaDevice]:
        return dlpack.cards_of(self)

    @property
    def committed(self) -> bool:
        """Whether JAX computes with it on its own devices only: where these are several."""
        return len(self.sharding.device_set) > 1

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
        cards = dlpack.card_numbers(self)
        if not cards:
            shards = self._read(self.buffer.shards)
            return [Shard.of(self, r, box, n).holding(values, self.dtype) for r, box, values, n in shards]
        viewed = Array(self._read(self.block_until_ready().buffer.view), self.dtype, self.shape)
        blocks = self._read(viewed.buffer.blocks)
        copies = functools.cache(lambda: viewed._read(viewed.buffer.shards))  # all at once
        found = lambda rank, box: next(each[2] for each in copies() if each[:2] == (rank, box))  # noqa: E731
        return [
            CardShard.of_block(
                dlpack.Block(viewed, index, cards[rank]), rank, box, copy, functools.partial(found, rank, box)
            )
            for index, (rank, box, copy) in enumerate(blocks)
        ]

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

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the elements are, as DLPack says it: (2, card) on a card, (1, 0) in memory of the host.

        Raises:
          BufferError: on cards, if no one device has all of it.
        """
        if not self._cards:
            placed: Any = self._placed()
            place: tuple[int, int] = placed.__dlpack_device__()
            return place
        return dlpack.whole_block(self).device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The elements for another library, say `torch.from_dlpack(array)`, by the protocol of the array API.

        On a card they are taken where they lie, after waiting for the step that makes them. While the library
        holds them, a step that updates the array writes elsewhere; they are to be read only. With `copy=True`
        it has a copy on the card of its own, with the host as `dl_device`, (1, 0), one in memory of the host.

        Args:
          stream: the consumer's, of CUDA: None and 1 are the legacy default stream, 2 is that of the thread,
            -1 none. As the step has ended, all of them are behind it.
          max_version: below (1, 0), or None, the structure is that of DLPack before 1.0, which can't say that
            elements are not to be written.

        Raises:
          BufferError: on cards, if no one device has all of it, or for a device that is neither its own nor
            the host.
        """
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        if not self._cards:
            return self._placed().__dlpack__(**options)
        return dlpack.export(lambda: dlpack.whole_block(self), self.to_jax, **options)

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
