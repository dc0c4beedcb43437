"""`DataLoader`: batches of a generator, for each place its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from epl.errors import ArgumentError, UnsupportedError
from epl.fluid.feeder import DataFeeder
from epl.fluid.places import Place
from epl.input.prefetch import prefetch

Feed = dict[str, np.ndarray[Any, Any]]
Row = Sequence[Any]


class GeneratorLoader:
    """Batches that a generator makes, as what programs are fed. See Paddle's `fluid.io.DataLoader`.

    Iterating gives for each step a list of dicts, one for each place, which `ParallelExecutor.run` takes; an
    `Executor` takes its only one. A thread reads ahead.
    """

    def __init__(self, feed_list: Sequence[Any], capacity: int, return_list: bool, drop_last: bool) -> None:
        self._names = [each if isinstance(each, str) else each.name for each in feed_list]
        self._feeder = DataFeeder(feed_list)
        self._capacity = capacity
        self._returns_list = return_list
        self._drops = drop_last
        self._places = 1
        self._batches: Callable[[], Iterable[Feed]] | None = None

    def set_sample_generator(
        self,
        reader: Callable[[], Iterable[Row]],
        batch_size: int,
        drop_last: bool = True,
        places: Sequence[Place] | Place | None = None,
    ) -> GeneratorLoader:
        """Takes rows one by one.

        Args:
          reader: gives an iterable of rows, which have a value for each variable.
          batch_size: how many rows a place has in a step.
          drop_last: whether rows that make no batch are left out.
          places: for which batches are.

        Returns:
          Itself.

        Raises:
          ArgumentError: for a size below 1.
        """
        if batch_size < 1:
            raise ArgumentError(f"batch_size must be 1 or more, found {batch_size}")

        def lists() -> Iterator[list[Row]]:
            rows: list[Row] = []
            for row in reader():
                rows.append(row if isinstance(row, (tuple, list)) else (row,))
                if len(rows) == batch_size:
                    yield rows
                    rows = []
            if rows and not drop_last:
                yield rows

        return self.set_sample_list_generator(lists, places)

    def set_sample_list_generator(
        self, reader: Callable[[], Iterable[Sequence[Row]]], places: Sequence[Place] | Place | None = None
    ) -> GeneratorLoader:
        """Takes lists of rows, a batch each; otherwise as `set_sample_generator`."""
        return self._set(lambda: map(self._feeder.feed, reader()), places)

    def set_batch_generator(
        self, reader: Callable[[], Iterable[Any]], places: Sequence[Place] | Place | None = None
    ) -> GeneratorLoader:
        """Takes batches, dicts or arrays in the order of variables; otherwise as `set_sample_generator`."""
        return self._set(lambda: map(self._named, reader()), places)

    def _named(self, batch: Any) -> Feed:
        if isinstance(batch, dict):
            return {name: np.asarray(value) for name, value in batch.items()}
        values = batch if isinstance(batch, (tuple, list)) else (batch,)
        if len(values) != len(self._names):
            raise ArgumentError(f"a batch has {len(values)} arrays, expected {len(self._names)}")
        return {name: np.asarray(value) for name, value in zip(self._names, values, strict=True)}

    def _set(self, batches: Callable[[], Iterable[Feed]], places: Any) -> GeneratorLoader:
        self._batches = batches
        self._places = len(places) if isinstance(places, (list, tuple)) else 1
        return self

    def __iter__(self) -> Iterator[Any]:
        if self._batches is None:
            raise ArgumentError("the loader has no generator: set_sample_generator and the like give it one")
        steps = iter(prefetch(self._steps(self._batches), max(self._capacity, 1)))
        return map(self._as_lists, steps) if self._returns_list else steps

    def _steps(self, batches: Callable[[], Iterable[Feed]]) -> Iterator[list[Feed]]:
        """A batch for each place."""
        step: list[Feed] = []
        for batch in batches():
            step.append(batch)
            if len(step) == self._places:
                yield step
                step = []
        if step and not self._drops:
            yield step

    def _as_lists(self, step: list[Feed]) -> list[list[np.ndarray[Any, Any]]]:
        return [[part[name] for name in self._names] for part in step]


class DataLoader:
    """Makes loaders."""

    @staticmethod
    def from_generator(
        feed_list: Sequence[Any] | None = None,
        capacity: int = 2,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> GeneratorLoader:
        """A loader of a generator that it is given then.

        Args:
          feed_list: the variables, or their names.
          capacity: how many steps are read ahead.
          use_double_buffer, use_multiprocess: make no difference: a thread reads ahead.
          iterable: True; loaders that belong to a program are not supported.
          return_list: whether a batch is a list of arrays, else a dict.
          drop_last: whether batches that not all places get are left out.

        Raises:
          UnsupportedError: for a loader that is not iterable.
          ArgumentError: without variables.
        """
        del use_double_buffer, use_multiprocess
        if not iterable:
            raise UnsupportedError(
                "DataLoader with iterable=False is not supported: iterate over it, and feed what it gives"
            )
        if not feed_list:
            raise ArgumentError("feed_list must name the variables that are fed")
        return GeneratorLoader(feed_list, capacity, return_list, drop_last)
