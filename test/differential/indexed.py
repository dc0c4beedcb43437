"""Reads and writes at computed positions: epl.gather and epl.scatter, and makers of random ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from ops import Arrays, Constant, Names, Op, join
from range_functions import reduce_range
from ranges import is_exact, make_anything, make_exact
from tensors import LIMITS, Value, is_float, is_integer
from values import MAX_RANK, Values

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Which dimensions are the same one, as the attributes of both ops say it."""

    of: tuple[int, ...]
    operand_dims: tuple[int, ...]
    index_dims: tuple[int, ...]

    def window(self, dim: int, windows: Shape) -> int:
        """The extent of a window along a dimension of the operand."""
        at = self.operand_dims[dim]
        return 1 if at < 0 or at in self.index_dims else windows[at]

    def starts(self, indices: list[np.ndarray], at: list[np.ndarray]) -> dict[int, np.ndarray]:
        """The start of the window that each element at `at` is of, along each indexed dimension."""
        place = tuple(at[dim] for dim in self.index_dims)
        return {dim: index[place] for dim, index in zip(self.of, indices, strict=True)}

    def __str__(self) -> str:
        return f"of {list(self.of)} operand_dims {list(self.operand_dims)} index_dims {list(self.index_dims)}"


@dataclass(frozen=True)
class Gather(Op):
    """The operands: a tensor, index tensors."""

    place: Place

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        operand, *indices = (arrays[value.id] for value in self.operands)
        return [self._gather(operand, indices)]

    def _gather(self, operand: np.ndarray, indices: list[np.ndarray]) -> np.ndarray:
        shape = self.result.type.shape
        at = list(np.indices(shape))
        starts = self.place.starts(indices, at)
        source = []
        for dim, along in enumerate(self.place.operand_dims):
            highest = operand.shape[dim] - self.place.window(dim, shape)
            start = np.clip(starts.get(dim, 0), 0, highest)
            source.append(start + (at[along] if along >= 0 else 0))
        return np.broadcast_to(operand[tuple(source)], shape)

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        """Anything, where positions are not known; else moved. If the operand is split along what is looked
        up, a sum of what one rank has and zeros of the others."""
        known = _know_indices(self.operands[1:], arrays)
        element = self.result.type.element
        if known is None:
            return [make_anything(self.result.type.shape, element)]
        made = np.array(self._gather(arrays[self.operands[0].id], known))
        made["sum"] |= is_float(element)
        return [made]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        operand, *indices = (names[value.id] for value in self.operands)
        return [
            f"{names[self.result.id]} = epl.gather {operand}[{join(*indices)}] {self.place}"
            f" : ({join(*(value.type for value in self.operands))}) -> {self.result.type}"
        ]


def _unsigned(choose: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """A choice between numbers that are compared without their signs."""
    return lambda a, b: a if choose(a % 2**64, b % 2**64) == a % 2**64 else b


COMBINATIONS: dict[str, Callable[[int, int], int]] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": min,
    "max": max,
    "umin": _unsigned(min),
    "umax": _unsigned(max),
    "andi": lambda old, new: old & new,
    "ori": lambda old, new: old | new,
}


@dataclass(frozen=True)
class Scatter(Op):
    """The operands: updates, a tensor, index tensors."""

    combine: str
    place: Place

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        updates, operand, *indices = (arrays[value.id] for value in self.operands)
        result = operand.copy()
        for at, to in self._walk(updates.shape, indices):
            result[to] = COMBINATIONS[self.combine](int(result[to]), int(updates[at]))
        return [result]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        """Each element from all that meet there, in any order; "set" leaves the last one."""
        updates, operand = (arrays[value.id] for value in self.operands[:2])
        element = self.result.type.element
        indices = _know_indices(self.operands[2:], arrays)
        if indices is None:
            return [make_anything(self.result.type.shape, element)]
        met: dict[Shape, list[np.ndarray]] = {}
        for at, to in self._walk(updates.shape, indices):
            met.setdefault(to, []).append(updates[at])
        result = np.array(operand)
        for to, found in met.items():
            result[to] = found[-1] if self.combine == "set" else self._combine(operand[to], found, element)
        result["sum"] |= is_float(element)
        return [result]

    def _combine(self, old: np.ndarray, new: list[np.ndarray], element: str) -> np.ndarray:
        numbers = np.stack([np.asarray(old), *map(np.asarray, new)])
        if is_float(element):
            kind = {"add": "sum", "mul": "prod"}.get(self.combine, self.combine)
            return reduce_range(kind, numbers, (0,), element, widens=False)
        if not is_exact(numbers).all():
            return make_anything((), element)
        combine = COMBINATIONS[self.combine]
        return make_exact(np.array(functools.reduce(combine, map(int, numbers["low"]))))

    def _walk(self, shape: Shape, indices: list[np.ndarray]) -> Iterator[tuple[Shape, Shape]]:
        """Updates in their order, each with the element that it meets."""
        last = [dim for dim in range(len(shape)) if dim not in self.place.index_dims]
        order = [*self.place.index_dims, *last]
        for element in np.ndindex(*(shape[dim] for dim in order)):
            at = [element[order.index(dim)] for dim in range(len(shape))]
            if (to := self._find(at, indices, shape)) is not None:
                yield tuple(at), to

    def _find(self, at: list[int], indices: list[np.ndarray], shape: Shape) -> Shape | None:
        """The element of the operand that an update goes to, None if its window is not inside."""
        starts = self.place.starts(indices, [np.array(position) for position in at])
        to = []
        for dim, along in enumerate(self.place.operand_dims):
            start = int(starts.get(dim, 0))
            if not 0 <= start <= self.result.type.shape[dim] - self.place.window(dim, shape):
                return None
            to.append(start + (at[along] if along >= 0 else 0))
        return tuple(to)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        updates, operand, *indices = (names[value.id] for value in self.operands)
        return [
            f"{names[self.result.id]} = epl.scatter {self.combine} {updates} into {operand}"
            f"[{join(*indices)}] {self.place}"
            f" : ({join(*(value.type for value in self.operands))}) -> {self.result.type}"
        ]


def _know_indices(indices: tuple[Value, ...], arrays: Arrays) -> list[np.ndarray] | None:
    """Index tensors of ranges as numbers, if all are exact."""
    found = [arrays[value.id] for value in indices]
    if not all(is_exact(ranges).all() for ranges in found):
        return None
    return [ranges["low"].astype(np.int64) for ranges in found]


class Indexed(Values):
    """Makers of the ops above; they give None if they find no operands that fit."""

    def _make_gather(self) -> Op | None:
        found = self._make_access()
        if found is None:
            return None
        operand, indices, place, windows = found
        result = self._new(windows, operand.type.element, operand.bound)
        return Gather((result,), (operand, *indices), place)

    def _make_scatter(self) -> Op | None:
        found = self._make_access()
        if found is None:
            return None
        operand, indices, place, windows = found
        element = operand.type.element
        updates = self._pick(lambda value: value.type.shape == windows and value.type.element == element)
        if updates is None:
            bound = 1 if element == "i1" else 2
            updates = self._add_constant(windows, element, bound)
        count = math.prod(windows[dim] for dim in place.index_dims)
        bounds = {kind: _bound(kind, operand.bound, updates.bound, count) for kind in _kinds(element)}
        kinds = [kind for kind, bound in bounds.items() if bound <= LIMITS[element]]
        if not kinds:
            return None
        kind = self.random.choice(kinds)
        result = self._new(operand.type.shape, element, bounds[kind])
        return Scatter((result,), (updates, operand, *indices), kind, place)

    def _make_access(self) -> tuple[Value, list[Value], Place, Shape] | None:
        """A tensor, index tensors, which dimensions correspond, and the shape of all windows."""
        operand = self._pick(lambda value: len(value.type.shape) > 0 and 0 not in value.type.shape)
        if operand is None:
            return None
        batch = self._make_index_shape(operand)
        dims: list[tuple[str, int]] = []  # of the windows: of the index tensors or of the operand
        dims += [("index", dim) for dim in range(len(batch))]
        kinds, extents = [], []
        for dim, extent in enumerate(operand.type.shape):
            taken = [k for kind, k in kinds if kind == "batch"]
            free = [k for k, n in enumerate(batch) if n == extent and k not in taken]
            kind = self.random.choice(
                ["element", "element", "whole", "part", *(["batch"] * 2 if free else [])]
            )
            kinds.append((kind, self.random.choice(free) if kind == "batch" else -1))
            extents.append(self.random.randint(1, extent) if kind == "part" else extent)
            if kind in ("whole", "part"):
                dims.append(("operand", dim))
        self.random.shuffle(dims)
        if len(dims) > MAX_RANK:
            return None
        place = Place(
            tuple(
                dim
                for dim, (kind, _) in enumerate(kinds)
                if kind != "batch" and self.roll({"element": 0.9, "whole": 0.1, "part": 0.9}[kind])
            ),
            tuple(
                dims.index(("index", axis)) if axis >= 0
                else dims.index(("operand", dim)) if kind in ("whole", "part")
                else -1
                for dim, (kind, axis) in enumerate(kinds)
            ),
            tuple(dims.index(("index", dim)) for dim in range(len(batch))),
        )  # fmt: skip
        windows = tuple(batch[dim] if kind == "index" else extents[dim] for kind, dim in dims)
        return operand, [self._pick_index(batch) for _ in place.of], place, windows

    def _make_index_shape(self, operand: Value) -> Shape:
        """The shape of an integer tensor, or a new one."""
        index = self._pick(lambda value: is_integer(value.type.element) and len(value.type.shape) < 3)
        if index is not None and self.roll(0.7):
            return index.type.shape
        return tuple(
            self.random.choice([self.batch, *operand.type.shape, *self.extents])
            for _ in range(self.random.choice([0, 1, 1, 2]))
        )

    def _pick_index(self, shape: Shape) -> Value:
        index = self._pick(lambda value: is_integer(value.type.element) and value.type.shape == shape)
        if index is not None and self.roll(0.8):
            return index
        return self._add_constant(shape, self.random.choice(["i8", "i32", "i32", "i64"]), 4)

    def _add_constant(self, shape: Shape, element: str, most: int) -> Value:
        """Random numbers, at least 0 more often than not."""
        least = 0 if element == "i1" else -1
        numbers = tuple(self.random.randint(least, most) for _ in range(math.prod(shape)))
        op = Constant((self._new(shape, element, most),), (), numbers)
        self.ops.append(op)
        self.values.append(op.result)
        return op.result


def _kinds(element: str) -> list[str]:
    if element == "i1":
        return ["set", "andi", "ori"]
    numbers = ["set", "add", "add", "mul", "min", "max"]
    return numbers if is_float(element) else [*numbers, "umin", "umax", "andi", "ori"]


def _bound(kind: str, operand: int, updates: int, count: int) -> int:
    """The bound of what a scatter makes where at most `count` updates meet an element."""
    if kind == "add":
        return operand + updates * count
    if kind == "mul":
        return operand * max(updates, 1) ** min(count, 64)
    largest = max(operand, updates)
    is_bitwise = kind in ("andi", "ori") and largest > 1
    return int(2 ** math.ceil(math.log2(largest + 1))) if is_bitwise else largest
