"""`epl.prefetch`: a thread reads the next items while a step runs.

A step waits for its batch, and a batch for disks and decoders; while the devices compute, the thread that
called the step has nothing to do. So another thread reads ahead.

Method: the thread calls `next` and puts what it gets into a queue, an error too, each with the state of the
source behind it. The consumer sends a token for every item that it asks for, and the thread begins item i
when it has got the token of item i - depth. What must hold:

- Items come in order, each once: one thread reads, into a queue.
- At most `depth` items are read and not asked for yet.
- The thread ends when nobody reads any more. It holds nothing of the consumer's object, so that this is
  collected when a loop is left; then, at `close` and when the interpreter ends, the thread gets a token that
  says so.
- The state that the consumer sees is of its own last item: a state goes with each item, as a copy, since
  sources may return one that changes as they go on.

Both queues are `SimpleQueue`s: their `put` may interrupt one that is under way in the same thread, as a
garbage collection does. A lock or a semaphore would wait for itself then.
"""

from __future__ import annotations

import atexit
import copy
import functools
import itertools
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from epl.errors import ArgumentError, Error
from epl.values import as_integer

T = TypeVar("T")
_STATE_METHODS = (("get_state", "set_state"), ("state_dict", "load_state_dict"))
_EXIT_SECONDS = 1.0  # at the interpreter's end, for items that are being read


def prefetch(iterator: Iterable[T], depth: int = 2) -> Prefetched[T]:
    """Iterates over what `iterator` gives, which a thread reads up to `depth` items ahead.

    It takes whatever a `for` loop takes: a generator, a dataset or loader of grain, PyTorch, tf.data or
    Hugging Face. What that raises is raised where the item would have come, with its traceback. Of a source
    with `get_state` and `set_state` (grain), or `state_dict` and `load_state_dict` (torchdata, Hugging Face),
    the result has these methods too: the state behind the last item that it has given you, not behind the
    last one that was read ahead. Setting one drops what was read ahead.

    The thread ends with the items, with the last reference to the result (a loop that is left by `break`),
    with its method `close`, which waits for the item that is being read, and with the program.

    Args:
      iterator: what is read, by one thread at a time; nobody else should meanwhile.
      depth: how many items are read ahead at most, of at least 1. So many are kept in memory.

    Raises:
      ArgumentError: for what is not iterable, and a bad depth.
    """
    ahead = as_integer(depth)
    if ahead is None or ahead < 1:
        raise ArgumentError(f"depth must be an integer of at least 1, found {depth!r}")
    if not hasattr(iterator, "__iter__") and not hasattr(iterator, "__getitem__"):
        raise ArgumentError(f"iterator must be iterable, found {iterator!r}")
    source = _Source(iterator)
    return _KINDS[source.methods](source, ahead)


class Prefetched(Iterator[T]):
    """What `epl.prefetch` returns: an iterator over items that a thread reads ahead."""

    _reader: _Reader | None
    _state: _State
    _stop: weakref.finalize[[], Prefetched[Any]]

    def __init__(self, source: _Source, depth: int) -> None:
        self._source = source
        self._depth = depth
        self._start()

    def __iter__(self) -> Prefetched[T]:
        return self

    def __next__(self) -> T:
        if self._reader is None:
            raise StopIteration
        read = self._reader.take()
        self._state = read.state
        if read.is_end:
            raise StopIteration
        if read.error is None:
            item: T = read.item
            return item
        try:
            raise read.error
        finally:
            del read  # the error's traceback holds this frame

    def close(self) -> None:
        """Ends the thread, waiting for the item that it reads at the moment; there are no items then."""
        if self._reader is not None:
            self._stop()
            self._reader.join()
            self._reader = None

    def _start(self) -> None:
        self._state = self._source.state()
        reader = self._reader = _Reader(self._source, self._depth)
        self._stop = weakref.finalize(self, reader.stop)
        self._stop.atexit = False  # the readers see to that

    def _restore(self, state: Any) -> None:
        self.close()
        self._source.restore(state)
        self._start()


class _WithState(Prefetched[T]):
    """Of a source whose state is read and set as grain's iterators do."""

    def get_state(self) -> Any:
        """The source's state behind the last item that was taken."""
        return self._state.value()

    def set_state(self, state: Any) -> None:
        """Goes on behind the item that `state` is of; what was read ahead is dropped."""
        self._restore(state)


class _WithStateDict(Prefetched[T]):
    """Of a source whose state is read and set as torchdata's loaders do."""

    def state_dict(self) -> Any:
        """The source's state behind the last item that was taken."""
        return self._state.value()

    def load_state_dict(self, state_dict: Any) -> None:
        """Goes on behind the item that `state_dict` is of; what was read ahead is dropped."""
        self._restore(state_dict)


_KINDS: dict[tuple[str, str] | None, type[Prefetched[Any]]] = {
    None: Prefetched,
    ("get_state", "set_state"): _WithState,
    ("state_dict", "load_state_dict"): _WithStateDict,
}


@dataclass(frozen=True)
class _State:
    """A state, or the error that asking for it was: it matters only to who wants the state."""

    state: Any = None
    error: Exception | None = None

    def value(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.state


class _Source:
    """An iterable and the iterator over it; `methods` are those by which one of both has a state, or None.

    A loader whose iterators are made anew by `iter` holds the state itself: it comes first.
    """

    methods: tuple[str, str] | None
    _holder: Any

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._iterable = iterable
        self._iterator = iter(iterable)
        found = (
            (holder, names)
            for holder in (self._iterable, self._iterator)
            for names in _STATE_METHODS
            if all(callable(getattr(holder, name, None)) for name in names)
        )
        self._holder, self.methods = next(found, (None, None))

    def __next__(self) -> Any:
        return next(self._iterator)

    def state(self) -> _State:
        if self.methods is None:
            return _State()
        try:
            return _State(copy.deepcopy(getattr(self._holder, self.methods[0])()))
        except Exception as error:
            return _State(error=error)

    def restore(self, state: Any) -> None:
        assert self.methods is not None
        is_remade = self._holder is self._iterable and self._iterator is not self._iterable
        if is_remade:
            self._iterator = iter(())  # a loader's workers end with its iterator, before others begin
        getattr(self._holder, self.methods[1])(state)
        if is_remade:
            self._iterator = iter(self._iterable)


@dataclass(frozen=True)
class _Read:
    """What a call of `next` gave: an item, an error or the end; and the source's state behind it."""

    state: _State
    item: Any = None
    error: BaseException | None = None
    is_end: bool = False


class _Reader:
    """A thread that reads a source, and what it has read."""

    def __init__(self, source: _Source, depth: int) -> None:
        self._read: SimpleQueue[_Read] = SimpleQueue()
        self._tokens: SimpleQueue[None] = SimpleQueue()
        self._is_stopped = False
        self._thread = threading.Thread(
            target=self._run, args=(source, depth), name="epl.prefetch", daemon=True
        )
        _stop_at_exit()
        _readers.add(self)
        self._thread.start()

    def take(self) -> _Read:
        """The next item, when it is there; the end again and again.

        The token goes first: if the user interrupts the wait, one item more is read ahead, and none is waited
        for in vain.
        """
        if not self._thread.is_alive() and self._read.empty():
            raise Error(
                "the thread of epl.prefetch is not in this process: call epl.prefetch behind the fork"
            )
        self._tokens.put(None)
        read = self._read.get()
        if read.is_end:
            self._read.put(read)
        return read

    def stop(self) -> None:
        self._is_stopped = True
        self._tokens.put(None)

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def _run(self, source: _Source, depth: int) -> None:
        for index in itertools.count():
            if index >= depth:
                self._tokens.get()
            if self._is_stopped or not self._read_one(source):
                return

    def _read_one(self, source: _Source) -> bool:
        """Whether there may be more."""
        try:
            item = next(source)
        except StopIteration:
            self._read.put(_Read(source.state(), is_end=True))
            return False
        except BaseException as error:  # all that the source raises is the consumer's
            self._read.put(_Read(source.state(), error=error))
        else:
            self._read.put(_Read(source.state(), item))
        return True


_readers: weakref.WeakSet[_Reader] = weakref.WeakSet()


@functools.cache
def _stop_at_exit() -> None:
    """A thread that is still in a library's code when the interpreter is taken down may crash it.

    Registered when the first thread starts: what was imported before is taken down after it.
    """

    def stop_all() -> None:
        running = list(_readers)
        for reader in running:
            reader.stop()
        end = time.monotonic() + _EXIT_SECONDS
        for reader in running:
            reader.join(max(0.0, end - time.monotonic()))

    atexit.register(stop_all)
