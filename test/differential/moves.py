"""Random ops that move elements: reshapes, slices, pads, concatenations; and constants."""

from __future__ import annotations

import math

from ops import Concatenate, Constant, ExtractSlice, InsertSlice, Op, Pad, Reshape, Type
from values import EXTENTS, MAX_RANK, Values


class Moves(Values):
    """Makers of ops that compute nothing; they give None if they find no operands that fit."""

    def _make_collapse(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 1)
        if source is None:
            return None
        dim = self.random.randrange(len(source.type.shape) - 1)
        groups = (
            [(d,) for d in range(dim)]
            + [(dim, dim + 1)]
            + [(d,) for d in range(dim + 2, len(source.type.shape))]
        )
        shape = tuple(math.prod(source.type.shape[d] for d in group) for group in groups)
        return Reshape(self._new(shape, source.type.element, source.bound), (source,), tuple(groups))

    def _make_expand(self) -> Op | None:
        source = self._pick(lambda value: 0 < len(value.type.shape) < MAX_RANK)
        if source is None:
            return None
        rank = len(source.type.shape)
        dim = self.random.randrange(rank)
        extent = source.type.shape[dim]
        factor = self.random.choice([f for f in range(1, extent + 1) if extent % f == 0])
        shape = (*source.type.shape[:dim], factor, extent // factor, *source.type.shape[dim + 1 :])
        groups = [(d,) for d in range(dim)] + [(dim, dim + 1)] + [(d + 1,) for d in range(dim + 1, rank)]
        return Reshape(self._new(shape, source.type.element, source.bound), (source,), tuple(groups))

    def _make_place(self, whole: tuple[int, ...], part: tuple[int, ...] | None) -> list[tuple[int, int, int]]:
        """Offset, size and stride for each dimension of a slice."""
        place = []
        for dim, extent in enumerate(whole):
            if part is None and self.random.random() < 0.6:
                place.append((0, extent, 1))
                continue
            size = part[dim] if part else self.random.randint(1, extent)
            stride = 2 if (size - 1) * 2 < extent and self.random.random() < 0.3 else 1
            place.append((self.random.randint(0, extent - 1 - (size - 1) * stride), size, stride))
        return place

    def _make_extract_slice(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 0)
        if source is None:
            return None
        offsets, sizes, strides = zip(*self._make_place(source.type.shape, None), strict=True)
        return ExtractSlice(
            self._new(sizes, source.type.element, source.bound), (source,), offsets, sizes, strides
        )

    def _make_insert_slice(self) -> Op | None:
        whole = self._pick(lambda value: len(value.type.shape) > 0)
        part = whole and self._pick(lambda value: _fits(value.type, whole.type))
        if whole is None or part is None:
            return None
        offsets, sizes, strides = zip(*self._make_place(whole.type.shape, part.type.shape), strict=True)
        result = self._new(whole.type.shape, whole.type.element, max(whole.bound, part.bound))
        return InsertSlice(result, (part, whole), offsets, sizes, strides)

    def _make_pad(self) -> Op | None:
        source = self._pick_number(1)
        if source is None:
            return None
        low, high = (tuple(self.random.choice([0, 0, 1, 2]) for _ in source.type.shape) for _ in range(2))
        padding = self.random.choice([0, 0, 2])
        shape = tuple(a + extent + b for a, extent, b in zip(low, source.type.shape, high, strict=True))
        result = self._new(shape, source.type.element, max(source.bound, padding))
        return Pad(result, (source,), low, high, padding)

    def _make_concatenate(self) -> Op | None:
        first = self._pick(lambda value: len(value.type.shape) > 0)
        if first is None:
            return None
        dim = self.random.randrange(len(first.type.shape))
        second = self._pick(lambda value: _without(value.type, dim) == _without(first.type, dim)) or first
        shape = list(first.type.shape)
        shape[dim] += second.type.shape[dim]
        result = self._new(tuple(shape), first.type.element, max(first.bound, second.bound))
        return Concatenate(result, (first, second), dim)

    def _make_constant(self) -> Op | None:
        shape = tuple(self.random.choice([*EXTENTS, self.batch]) for _ in range(self.random.randint(0, 2)))
        count = 1 if self.random.random() < 0.5 else math.prod(shape)
        numbers = tuple(self.random.randint(-2, 2) for _ in range(count))
        return Constant(self._new(shape, self.element, 2), (), numbers)


def _fits(part: Type, whole: Type) -> bool:
    return (
        part.element == whole.element
        and len(part.shape) == len(whole.shape)
        and all(a <= b for a, b in zip(part.shape, whole.shape, strict=True))
    )


def _without(type_: Type, dim: int) -> tuple[str, tuple[int, ...]] | None:
    """What types that can be joined along `dim` have in common."""
    if len(type_.shape) <= dim:
        return None
    return type_.element, (*type_.shape[:dim], 0, *type_.shape[dim + 1 :])
