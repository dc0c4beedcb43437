"""The memory of an `epl.Array` that servers hold, or have held: what `epl.Array` asks of a `StateBuffer`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epl.adapters.jax import hooks
from epl.array import Array
from epl.calling import in_memory
from epl.errors import DonatedError
from epl.servers.connection import Connection
from epl.servers.job import Held
from epl.signature import is_key

Box = tuple[tuple[int, int], ...]
"""(begin, end) of each dimension."""


class _Buffer:
    """What both kinds are: one copy, as if device 0 had it, of no mesh and no card."""

    sharding = None
    is_divided = False
    is_here = True
    is_ready = True

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value."""
        raise NotImplementedError

    def wait(self) -> None:
        """Nothing: who reads the value waits."""

    def holders(self) -> list[tuple[int, None]]:
        """No card."""
        return [(0, None)]

    def copy(self) -> FetchedBuffer:
        """The value as it is now."""
        return FetchedBuffer(np.array(self.numpy()))

    snapshot = view = copy

    def shards(self) -> list[tuple[int, Box, np.ndarray[Any, Any], int]]:
        """The whole, as the box of one device."""
        value = self.numpy()
        return [(0, _box_of(value.shape), value, 0)]


@dataclass
class FetchedBuffer(_Buffer):
    """A value in memory of this process."""

    value: np.ndarray[Any, Any] | None
    is_donated = False

    @staticmethod
    def new(shape: tuple[int, ...], dtype: Any) -> tuple[FetchedBuffer, list[Any]]:
        """One that is not written yet, and where to write it, as `Session.new_state` has it."""
        made = FetchedBuffer(np.zeros(shape, dtype))
        return made, made.shards()

    @property
    def is_deleted(self) -> bool:
        """Whether it was deleted."""
        return self.value is None

    def delete(self) -> None:
        """Lets go of the memory."""
        self.value = None

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value. Raises DonatedError if it was deleted."""
        if self.value is None:
            raise DonatedError("the array was deleted")
        return self.value

    def all_shards(self) -> list[tuple[int, Box]]:
        """The whole, in this process."""
        return [(0, _box_of(self.numpy().shape))]

    def new_alike(self) -> tuple[FetchedBuffer, list[Any]]:
        """As `new`, of the same kind."""
        value = self.numpy()
        return FetchedBuffer.new(value.shape, value.dtype)


@dataclass(frozen=True)
class ServedBuffer(_Buffer):
    """A parameter, or a state of one, as a step has left it, on servers.

    It is read by fetching it, until the next step: then it is donated.
    """

    connection: Connection
    held: Held
    name: str
    step: int
    shape: tuple[int, ...]
    dtype: Any

    @property
    def is_donated(self) -> bool:
        """Whether a later step has updated it."""
        return self.connection.step != self.step

    is_deleted = is_donated

    def delete(self) -> None:
        """Nothing: it has no memory here."""

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value, fetched.

        Raises:
          DonatedError: if a later step has updated it.
          ProcessError: if a server is lost.
        """
        if self.is_donated:
            raise DonatedError(
                f'state "{self.name}" was donated by step {self.step}, and servers hold what that has made: '
                "use what it returned"
            )
        value: np.ndarray[Any, Any]
        (value,) = self.connection.fetch([(self.held.parameter, self.held.state)])
        return value

    def all_shards(self) -> list[tuple[int, Box]]:
        """The whole, which this process may fetch."""
        return [(0, _box_of(self.shape))]

    def new_alike(self) -> tuple[FetchedBuffer, list[Any]]:
        """A value of the same kind that is not written yet, in this process."""
        return FetchedBuffer.new(self.shape, self.dtype)


def array_of(buffer: ServedBuffer | FetchedBuffer, kind: Any) -> Any:
    """The `epl.Array` that a buffer is the memory of; typed keys of it, if that is the kind."""
    numbers = in_memory(kind)
    array = Array(buffer, np.dtype(numbers.dtype), tuple(numbers.shape))
    return hooks.key_wrapper(kind.dtype)(array) if is_key(kind.dtype) else array


def is_served(value: Any) -> bool:
    """Whether a value is an `epl.Array` that servers hold, or have held."""
    return isinstance(value, Array) and isinstance(value.buffer, ServedBuffer)


def _box_of(shape: tuple[int, ...]) -> Box:
    return tuple((0, extent) for extent in shape)
