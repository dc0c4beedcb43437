"""Random ops that move elements: reshapes, slices, pads, concatenations; and constants."""

from __future__ import annotations

import math

from layout import make_constraint
from ops import Concatenate, Constant, Constrain, ExtractSlice, InsertSlice, Op, Pad, Place, Reshape, Spread
from tensors import Type
from values import MAX_RANK, Values


class Moves(Values):
    """Makers of ops that compute nothing; they give None if they find no operands that fit."""

    def _make_collapse(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 1)
        if source is None:
            return None
        shape = source.type.shape
        groups: list[tuple[int, ...]] = [(0,)]
        for dim in range(1, len(shape)):
            if self.roll(0.5):
                groups[-1] += (dim,)
            else:
                groups.append((dim,))
        if len(groups) == len(shape):
            groups[-2:] = [groups[-2] + groups[-1]]
        if math.prod(shape) == 1 and self.roll(0.3):
            groups = []
        result = self._new(
            tuple(math.prod(shape[d] for d in group) for group in groups), source.type.element, source.bound
        )
        return Reshape((result,), (source,), tuple(groups))

    def _make_expand(self) -> Op | None:
        source = self._pick(lambda value: 0 < len(value.type.shape) < MAX_RANK and 0 not in value.type.shape)
        if source is None:
            return None
        shape: list[int] = []
        groups: list[tuple[int, ...]] = []
        split = self.random.randrange(len(source.type.shape))
        for dim, extent in enumerate(source.type.shape):
            parts = self._factor(extent) if dim == split or self.roll(0.15) else [extent]
            groups.append(tuple(range(len(shape), len(shape) + len(parts))))
            shape += parts
        if len(shape) > MAX_RANK + 1:
            return None
        return Reshape(
            (self._new(tuple(shape), source.type.element, source.bound),), (source,), tuple(groups)
        )

    def _factor(self, extent: int) -> list[int]:
        """Two or three factors of a number, ones among them."""
        parts = [extent]
        for _ in range(self.random.choice([1, 1, 2])):
            last = parts.pop()
            factor = self.random.choice([f for f in range(1, last + 1) if last % f == 0])
            parts += [factor, last // factor]
        return parts

    def _make_place(self, whole: tuple[int, ...], part: tuple[int, ...] | None) -> Place:
        """Offset, size and stride for each dimension of a slice."""
        spans = []
        for dim, extent in enumerate(whole):
            if part is None and self.roll(0.6):
                spans.append((0, extent, 1))
                continue
            size = part[dim] if part else self.random.randint(1, extent)
            stride = 2 if (size - 1) * 2 < extent and self.roll(0.3) else 1
            spans.append((self.random.randint(0, extent - 1 - (size - 1) * stride), size, stride))
        offsets, sizes, strides = zip(*spans, strict=True)
        return Place(offsets, sizes, strides)

    def _make_extract_slice(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 0 and 0 not in value.type.shape)
        if source is None:
            return None
        place = self._make_place(source.type.shape, None)
        shape = tuple(size for size in place.sizes if size != 1 or self.roll(0.6))
        return ExtractSlice((self._new(shape, source.type.element, source.bound),), (source,), place)

    def _make_insert_slice(self) -> Op | None:
        whole = self._pick(lambda value: len(value.type.shape) > 0 and 0 not in value.type.shape)
        part = whole and self._pick(lambda value: _fits(value.type, whole.type))
        if whole is None or part is None:
            return None
        missing = len(whole.type.shape) - len(part.type.shape)
        sizes = list(part.type.shape)
        for _ in range(missing):  # dimensions of size 1 that the part lacks
            sizes.insert(self.random.randint(0, len(sizes)), 1)
        if any(size > extent for size, extent in zip(sizes, whole.type.shape, strict=True)):
            return None
        place = self._make_place(whole.type.shape, tuple(sizes))
        result = self._new(whole.type.shape, whole.type.element, max(whole.bound, part.bound))
        return InsertSlice((result,), (part, whole), place)

    def _make_pad(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 0)
        if source is None:
            return None
        low, high = (tuple(self.random.choice([0, 0, 1, 2]) for _ in source.type.shape) for _ in range(2))
        padding = self.random.choice([0, 0, 1 if source.type.element == "i1" else 2])
        shape = tuple(a + extent + b for a, extent, b in zip(low, source.type.shape, high, strict=True))
        result = self._new(shape, source.type.element, max(source.bound, padding))
        return Pad((result,), (source,), low, high, padding)

    def _make_concatenate(self) -> Op | None:
        first = self._pick(lambda value: len(value.type.shape) > 0)
        if first is None:
            return None
        dim = self.random.randrange(len(first.type.shape))
        fitting = [value for value in self.values if _without(value.type, dim) == _without(first.type, dim)]
        operands = [first, *self.random.choices(fitting, k=self.random.choice([1, 1, 2]))]
        shape = list(first.type.shape)
        shape[dim] = sum(operand.type.shape[dim] for operand in operands)
        bound = max(operand.bound for operand in operands)
        op = self.random.choice(["epl.concatenate", "epl.concatenate", "tensor.concat"])
        return Concatenate((self._new(tuple(shape), first.type.element, bound),), tuple(operands), dim, op)

    def _make_constrain(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 0)
        if source is None:
            return None
        sharding, whole = make_constraint(self.random, self.layout, source.type.shape)
        result = self._new(source.type.shape, source.type.element, source.bound)
        return Constrain((result,), (source,), sharding, whole)

    def _make_constant(self) -> Op | None:
        shape, element = self._make_shape(), self.random.choice([*self.elements, *self.elements, "i1"])
        count = 1 if self.roll(0.5) else math.prod(shape)
        least, most = (0, 1) if element == "i1" else (-2, 2)
        numbers = tuple(self.random.randint(least, most) for _ in range(count))
        return Constant((self._new(shape, element, most),), (), numbers)

    def _make_spread(self) -> Op | None:
        source = self._pick(lambda value: 0 not in value.type.shape)
        if source is None:
            return None
        indices = tuple(self.random.randrange(extent) for extent in source.type.shape)
        result = self._new(self._make_shape(), source.type.element, source.bound)
        return Spread((result,), (source,), indices, self.random.choice(["tensor.splat", "linalg.fill"]))

    def _make_shape(self) -> tuple[int, ...]:
        return tuple(
            self.random.choice([*self.extents, self.batch]) for _ in range(self.random.randint(0, 2))
        )


def _fits(part: Type, whole: Type) -> bool:
    return part.element == whole.element and len(part.shape) <= len(whole.shape) and 0 not in part.shape


def _without(type_: Type, dim: int) -> tuple[str, tuple[int, ...]] | None:
    """What types that can be joined along `dim` have in common."""
    if len(type_.shape) <= dim:
        return None
    return type_.element, (*type_.shape[:dim], 0, *type_.shape[dim + 1 :])
