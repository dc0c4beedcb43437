"""Which parameter server has which block: Fluid's dispatchers, of which a user's class may be another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from epl import runtime
from epl.errors import ArgumentError


class SplitMethodError(ArgumentError, AssertionError):
    """A `split_method` that is no dispatcher, or names other servers."""


@dataclass(frozen=True)
class Block:
    """A block of a variable: its name (`w@GRAD.block1`, or `w@GRAD` if it is the whole) and shape."""

    name: str
    shape: tuple[int, ...]


class PSDispatcher:
    """Says which server has a block; users derive from it.

    Args:
      pserver_endpoints: the addresses of the servers.
    """

    def __init__(self, pserver_endpoints: Sequence[str]) -> None:
        self._eps = list(pserver_endpoints)
        self._step = 0

    @property
    def eps(self) -> list[str]:
        """The addresses of the servers."""
        return self._eps

    def reset(self) -> None:
        """Begins anew; it is called before the first block."""
        self._step = 0

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        """The address of the server for each block.

        Args:
          varlist: the blocks of one parameter's gradient, see `Block`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no dispatch(varlist)")


class _OfRuntime(PSDispatcher):
    """One of the runtime's, which knows servers by their numbers; arguments as of the base class.

    Raises:
      SplitMethodError: if there are no servers.
    """

    _name: ClassVar[str]
    """Of the runtime's class."""

    def __init__(self, pserver_endpoints: Sequence[str]) -> None:
        super().__init__(pserver_endpoints)
        if not self._eps:
            raise SplitMethodError(f"{type(self).__name__} needs at least 1 address of a server, found none")
        self._places = getattr(runtime.module(), self._name)(len(self._eps))

    def reset(self) -> None:
        """As the base class says."""
        self._places.reset()

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        """As the base class says."""
        return [self._eps[place] for place in self._places.dispatch([block.name for block in varlist])]


class RoundRobin(_OfRuntime):
    """One server after another."""

    _name = "RoundRobin"


class HashName(_OfRuntime):
    """By a hash of the block's name: CRC-32, which is equal in all processes, as Python's `hash` is not."""

    _name = "HashName"


_BY_NAME = {each.__name__: each for each in (RoundRobin, HashName)}


def dispatcher_class(split_method: Any) -> Any:
    """The class that `split_method` says, which may be derived from Paddle's `PSDispatcher`, too.

    Raises:
      SplitMethodError: for what is none of these.
    """
    if split_method is None:
        return RoundRobin
    if isinstance(split_method, str) and split_method in _BY_NAME:
        return _BY_NAME[split_method]
    bases = split_method.__mro__[1:] if isinstance(split_method, type) else ()
    if not any(base.__name__ == PSDispatcher.__name__ for base in bases):
        raise SplitMethodError(
            f"split_method must be a class that is derived from PSDispatcher, or {' or '.join(_BY_NAME)}, "
            f"found {split_method!r}"
        )
    return split_method


def dispatch(dispatcher: Any, blocks: Sequence[Block]) -> list[int]:
    """The numbers of the servers for the blocks of one gradient.

    Raises:
      SplitMethodError: if the dispatcher names others, or not one for each block.
    """
    found = list(dispatcher.dispatch(list(blocks)) or ())
    if len(found) != len(blocks) or not set(found) <= set(dispatcher.eps):
        raise SplitMethodError(
            f"{type(dispatcher).__name__}.dispatch must give one of {', '.join(dispatcher.eps)} for each of "
            f"{', '.join(block.name for block in blocks)}, found {found}"
        )
    return [dispatcher.eps.index(address) for address in found]
