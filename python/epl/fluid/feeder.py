"""`DataFeeder`: rows of a reader as what programs are fed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from epl.errors import ArgumentError
from epl.fluid.installed import load
from epl.fluid.places import Place
from epl.fluid.programs import imported


class DataFeeder:
    """Makes batches of rows, each of which has a value for every variable that is fed.

    Args:
      feed_list: the variables, or their names, in the order in which rows have their values.
      place: makes no difference.
      program: that has the variables; default `default_main_program()`.

    Raises:
      ArgumentError: for a name that is no variable.
    """

    def __init__(self, feed_list: Sequence[Any], place: Place | None = None, program: Any = None) -> None:
        del place
        known = imported(load().static.default_main_program() if program is None else program).variables
        names = [each if isinstance(each, str) else each.name for each in feed_list]
        if unknown := [name for name in names if name not in known]:
            raise ArgumentError(f'feed_list has "{unknown[0]}", which is no variable of the program')
        self._variables = [known[name] for name in names]

    def feed(self, iterable: Iterable[Sequence[Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """A batch.

        Args:
          iterable: rows: a value for each variable, a number, a list or an array.

        Raises:
          ArgumentError: for a row with another number of values, and for values of another size.
        """
        rows = list(iterable)
        for row in rows:
            if len(row) != len(self._variables):
                raise ArgumentError(f"a row has {len(row)} values, expected {len(self._variables)}")
        return {
            each.name: self._column(each, [row[index] for row in rows])
            for index, each in enumerate(self._variables)
        }

    def feed_parallel(
        self, iterable: Iterable[Iterable[Sequence[Any]]], num_places: int | None = None
    ) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
        """A batch for each device, of as many iterables of rows.

        Raises:
          ArgumentError: for another number of iterables than `num_places`.
        """
        parts = list(iterable)
        if num_places is not None and len(parts) != num_places:
            raise ArgumentError(f"found rows for {len(parts)} devices, expected {num_places}")
        return map(self.feed, parts)

    @staticmethod
    def _column(variable: Any, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        try:
            column = np.array(values, variable.dtype)
            return column.reshape(len(values), *variable.shape[1:])
        except ValueError:
            shapes = sorted({np.shape(value) for value in values})
            raise ArgumentError(
                f'"{variable.name}" is {variable.dtype.name}{list(variable.shape)}, which rows of the shapes '
                f"{', '.join(str(list(shape)) for shape in shapes)} do not make"
            ) from None
