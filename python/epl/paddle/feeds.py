"""What devices are fed: a batch cut into parts, and parts of different lengths padded to one.

    rows, devices | `Split.REST` | `Split.CEILING`
    --------------+--------------+-------------------------------
    3, 2          | 1, 2         | 2, 1
    6, 4          | 1, 1, 1, 3   | 2, 2, 2: three parts, an error

The first, where the last device has what is left, is that of the guides of Fluid; the second, where the last
part is short, that of Paddle from 1.7 on.
"""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epl.adapters.jax.padded_rows import Rows
from epl.errors import ArgumentError

Part = Mapping[str, np.ndarray[Any, Any]]


class Split(enum.Enum):
    """How a batch is cut into parts for devices."""

    REST = "rest"
    CEILING = "ceil"


def sizes(rows: int, count: int, split: Split) -> list[int]:
    """How many rows each device has; fewer parts than devices if there are too few rows."""
    if split is Split.CEILING:
        step = max(-(-rows // count), 1)
        return [min(step, rows - begin) for begin in range(0, rows, step)]
    if rows < count:
        return [1] * rows
    return [rows // count] * (count - 1) + [rows // count + rows % count]


def cut(feed: Part, count: int, split: Split) -> list[dict[str, np.ndarray[Any, Any]]]:
    """The parts of a batch, as many as there are rows for, up to one for each device.

    Raises:
      ArgumentError: for a scalar, and for values that give different numbers of parts.
    """
    parts: list[dict[str, np.ndarray[Any, Any]]] = []
    for name, value in feed.items():
        if not value.ndim:
            raise ArgumentError(
                f'"{name}" in feed is a number: a feed that is cut has rows along dimension 0'
            )
        own = sizes(len(value), count, split)
        parts = parts or [{} for _ in own]
        if len(own) != len(parts):
            raise ArgumentError(
                f'"{name}" in feed has {len(own)} parts of its {len(value)} rows, expected {len(parts)}, as '
                f'"{next(iter(feed))}" has'
            )
        for part, end, size in zip(parts, np.cumsum(own), own, strict=True):
            part[name] = value[end - size : end]
    return parts


@dataclass(frozen=True)
class Layout:
    """How values of all devices are put together.

    rows: of values that are padded, where their rows are; empty if all parts are of one length. extents: how
    many rows each batch is padded to.
    """

    rows: tuple[tuple[str, Rows], ...] = ()
    extents: tuple[int, ...] = ()


_EVEN = Layout()
"""All parts are of one length."""


@dataclass(frozen=True)
class Fed:
    """Values of this process's devices along a new dimension 0, and how many rows there are of each batch.

    counts: int32 [devices, batches], of the devices of all processes; a device without a part has no rows.
    """

    values: dict[str, np.ndarray[Any, Any]]
    layout: Layout
    counts: np.ndarray[Any, Any]


Lengths = dict[str, tuple[int, ...]]
"""By name how many rows each device has."""

Share = Callable[[Lengths, Part], list[Lengths]]
"""Gives the lengths of all processes for those of this one and for one of its parts, or its batch."""


def of_batch(feed: Part, count: int, split: Split, share: Share | None = None) -> Fed:
    """A batch, cut for the devices of this process. Errors as of `cut`.

    Args:
      share: None if this process is the only one.
    """
    if is_even(feed, count):
        return of_even_batch(feed, count, share)
    return of_parts(cut(feed, count, split), count, share)


def of_even_batch(feed: Part, count: int, share: Share | None = None) -> Fed:
    """A batch of which all devices of this process get as many rows (`is_even`)."""
    processes = 1
    if share is not None:
        every = share({name: (len(value) // count,) * count for name, value in feed.items()}, feed)
        lengths = _joined(every)
        if not _are_equal(lengths):
            return _with_padding(cut(feed, count, Split.REST), count, lengths)
        processes = len(every)
    values = {name: value.reshape(count, -1, *value.shape[1:]) for name, value in feed.items()}
    return Fed(values, _EVEN, _no_counts(count * processes))


def is_even(feed: Part, count: int) -> bool:
    """Whether all devices get as many rows of a batch."""
    return all(value.ndim and len(value) and len(value) % count == 0 for value in feed.values())


def of_parts(parts: Sequence[Part], count: int, share: Share | None = None) -> Fed:
    """The parts of the first devices of this process, of the same names, at least one.

    Raises:
      ArgumentError: for parts whose rows differ in shape.
    """
    _check_rows(parts)
    own = {name: _lengths([part[name] for part in parts], count) for name in parts[0]}
    every = [own] if share is None else share(own, parts[0])
    lengths = _joined(every)
    if not _are_equal(lengths):
        return _with_padding(parts, count, lengths)
    values = {name: _stacked([part[name] for part in parts]) for name in parts[0]}
    return Fed(values, _EVEN, _no_counts(count * len(every)))


def _stacked(parts: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The parts along a new dimension 0; one alone is not copied."""
    return parts[0][None] if len(parts) == 1 else np.stack(parts)


@functools.cache
def _no_counts(devices: int) -> np.ndarray[Any, Any]:
    """The rows of no batch, of so many devices."""
    counts = np.zeros((devices, 0), np.int32)
    counts.flags.writeable = False
    return counts


def _check_rows(parts: Sequence[Part]) -> None:
    for device, part in enumerate(parts):
        for name, first in parts[0].items():
            value = part[name]
            if (value.ndim, value.shape[1:]) != (first.ndim, first.shape[1:]):
                raise ArgumentError(
                    f'"{name}" in feed is {list(first.shape)} on device 0 and {list(value.shape)} on device '
                    f"{device}: expected rows of one shape"
                )


def _joined(every: Sequence[Lengths]) -> Lengths:
    """The lengths on the devices of all processes."""
    return {name: tuple(itertools.chain(*(own[name] for own in every))) for name in every[0]}


def _are_equal(lengths: Lengths) -> bool:
    return all(len(set(each)) == 1 for each in lengths.values())


def _with_padding(parts: Sequence[Part], count: int, lengths: Lengths) -> Fed:
    """Parts of several lengths, which are those of all devices, padded to the longest."""
    batches: list[tuple[int, ...]] = []
    rows = {name: _place(own, batches) for name, own in lengths.items() if parts[0][name].ndim}
    values = {name: _padded([part[name] for part in parts], count, max(lengths[name])) for name in parts[0]}
    layout = Layout(tuple(rows.items()), tuple(max(each) for each in batches))
    return Fed(values, layout, np.asarray(batches, np.int32).T)


def _lengths(parts: Sequence[np.ndarray[Any, Any]], count: int) -> tuple[int, ...]:
    own = [len(part) if part.ndim else 1 for part in parts]
    return (*own, *([0] * (count - len(own))))


def _place(own: tuple[int, ...], batches: list[tuple[int, ...]]) -> Rows:
    """Of which batch rows are, a new one if need be; a value may have several elements for each row."""
    for index, batch in enumerate(batches):
        factor = max(own) // max(batch)
        if tuple(factor * each for each in batch) == own:
            return Rows(index, 0, inner=factor)
    batches.append(own)
    return Rows(len(batches) - 1, 0)


def _padded(parts: Sequence[np.ndarray[Any, Any]], count: int, rows: int) -> np.ndarray[Any, Any]:
    first = parts[0]
    found = np.zeros((count, *((rows, *first.shape[1:]) if first.ndim else ())), first.dtype)
    for index, part in enumerate(parts):
        if first.ndim:
            found[index, : len(part)] = part
        else:
            found[index] = part
    return found
