"""Which part of an array each process writes, and in which pieces it is read.

Problem: several devices have copies, and processes must not write one piece of a file both. Method: every
process knows what all devices have, so that all say the same without asking: each distinct box is shared by
the processes that have it, along its first dimension that their number divides; one that does not divide is
written by the first of them. Files consist of pieces of one shape (chunks): no piece is in the parts of two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Box = tuple[tuple[int, int], ...]
"""(begin, end) of each dimension."""

SMALLEST_CHUNK = 1 << 16
"""Bytes of a piece below which a process that writes alone rather takes one that does not fit its parts."""


def written_parts(held: Iterable[tuple[int, Box]]) -> list[tuple[int, Box]]:
    """What each process writes of an array: (process, box), together every element once.

    Args:
      held: (process, box) of every device.
    """
    owners: dict[Box, set[int]] = {}
    for process, box in held:
        owners.setdefault(box, set()).add(process)
    return [part for box, processes in owners.items() for part in _shared(box, sorted(processes))]


def _shared(box: Box, processes: Sequence[int]) -> list[tuple[int, Box]]:
    count = len(processes)
    for dim, (begin, end) in enumerate(box):
        if end > begin and (end - begin) % count == 0:
            size = (end - begin) // count
            cuts = [(begin + i * size, begin + (i + 1) * size) for i in range(count)]
            return [
                (process, (*box[:dim], cut, *box[dim + 1 :]))
                for process, cut in zip(processes, cuts, strict=True)
            ]
    return [(processes[0], box)]


def chunk_shape(shape: Sequence[int], parts: Sequence[tuple[int, Box]], itemsize: int) -> tuple[int, ...]:
    """The shape of the pieces of a file: the largest whose borders are those of the parts.

    Where one process writes all, and they would be tiny, it is that of the largest part.
    """
    chunk = []
    for dim, extent in enumerate(shape):
        borders = {border for _, box in parts for border in box[dim]} - {extent}
        chunk.append(math.gcd(*borders) or extent)
    alone = len({process for process, _ in parts}) == 1
    if alone and math.prod(chunk) * itemsize < min(SMALLEST_CHUNK, math.prod(shape) * itemsize):
        return max((tuple(end - begin for begin, end in box) for _, box in parts), key=math.prod)
    return tuple(chunk)


def pieces(box: Box, chunk: Sequence[int], limit: int) -> Iterator[Box]:
    """A box in boxes of whole chunks, of at most `limit` elements where a chunk has no more."""
    size = math.prod(end - begin for begin, end in box)
    for dim, (begin, end) in enumerate(box):
        border = (begin // chunk[dim] + 1) * chunk[dim]  # the first one behind `begin`
        if size <= limit or border >= end:
            continue
        whole = max(1, limit * (end - begin) // size // chunk[dim]) * chunk[dim]
        cuts = [begin, *range(border, end, whole), end]
        for first, last in itertools.pairwise(cuts):
            yield from pieces((*box[:dim], (first, last), *box[dim + 1 :]), chunk, limit)
        return
    yield box


def slices(box: Box) -> tuple[slice, ...]:
    """A box as an index of the whole array."""
    return tuple(slice(begin, end) for begin, end in box)


def part_of(array: Any, origin: Box, box: Box) -> Any:
    """What lies in a box of an array that begins where `origin` does: a view, without dimensions too."""
    shifted = ((b - first, e - first) for (b, e), (first, _) in zip(box, origin, strict=True))
    return array[(*slices(tuple(shifted)), ...)]


def contains(outer: Box, inner: Box) -> bool:
    """Whether a box lies in another one."""
    return all(b <= begin and end <= e for (b, e), (begin, end) in zip(outer, inner, strict=True))


def elements(box: Box) -> int:
    """How many elements a box has."""
    return math.prod(end - begin for begin, end in box)
