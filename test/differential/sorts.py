"""Sorts: of one or more tensors, by one or more keys, whole or the first elements only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ops import Arrays, Names, Op, join
from ranges import NEVER, flush, is_exact, make_anything, pack, tie
from tensors import is_float
from values import Values


@dataclass(frozen=True)
class Sort(Op):
    """epl.sort by the first `keys` operands, one after the other."""

    dim: int
    keys: int
    descending: bool

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        operands = [arrays[operand.id] for operand in self.operands]
        keys = [-key if self.descending else key for key in operands[: self.keys]]
        order = np.lexsort(keys[::-1], axis=self.dim)
        first = np.take(order, range(self.result.type.shape[self.dim]), self.dim)
        return [np.take_along_axis(operand, first, self.dim) for operand in operands]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        """The k-th of numbers lies between the k-th of their lower and of their upper ends. Where the first
        key leaves the order open, the rest is anything; where one may be NaN, which no order has, all is."""
        operands = [np.moveaxis(arrays[operand.id], self.dim, -1) for operand in self.operands]
        limit = self.result.type.shape[self.dim]
        elements = [operand.type.element for operand in self.operands]
        keys = [
            flush(key, element) if is_float(element) else key
            for key, element in zip(operands[: self.keys], elements, strict=False)
        ]
        exact = np.logical_and.reduce([is_exact(key) for key in keys]).all(-1, keepdims=True)
        has_nan = np.logical_or.reduce([key["nan"] != NEVER for key in keys]).any(-1, keepdims=True)
        numbers = [-key["low"] if self.descending else key["low"] for key in keys]
        order = np.lexsort(numbers[::-1], axis=-1)
        known = exact | _is_ordered(keys[0], order, self.descending)
        results = []
        for index, (operand, element) in enumerate(zip(operands, elements, strict=True)):
            made = np.take_along_axis(operand, order, -1)
            if index == 0:
                tied = tie(operand, element) if is_float(element) else operand
                ends = [np.sort(tied[end], -1) for end in ("low", "high")]
                ends = [end[..., ::-1] for end in ends] if self.descending else ends
                made = np.where(known, made, pack(*ends))
            else:
                made = np.where(known, made, make_anything((), element))
            made = np.where(has_nan, make_anything((), element), made)
            results.append(np.moveaxis(made[..., :limit], -1, self.dim))
        return results

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        results, operands = (
            join(*(names[value.id] for value in values)) for values in (self.results, self.operands)
        )
        types = [join(*(value.type for value in values)) for values in (self.operands, self.results)]
        sides = [(next(fresh), next(fresh)) for _ in self.operands]
        elements = [operand.type.element for operand in self.operands]
        arguments = join(
            *(f"{a}: {element}, {b}: {element}" for (a, b), element in zip(sides, elements, strict=True))
        )
        *lines, before = self._compare(list(zip(sides, elements, strict=True))[: self.keys], fresh)
        return [
            f"{results} = epl.sort {operands} dim {self.dim} : ({types[0]}) -> ({types[1]}) {{",
            f"^bb0({arguments}):",
            *lines,
            f"epl.yield {before} : i1",
            "}",
        ]

    def _compare(self, keys: list[tuple[tuple[str, str], str]], fresh: Iterator[str]) -> Iterator[str]:
        """Ops that compare by `keys`, the last one first, and the name of the last one's result."""
        found = ""
        for (a, b), element in reversed(keys):
            before = next(fresh)
            yield f"{before} = {_compare('gt' if self.descending else 'lt', element)} {a}, {b} : {element}"
            if found:
                same, both, either = next(fresh), next(fresh), next(fresh)
                yield f"{same} = {_compare('eq', element)} {a}, {b} : {element}"
                yield f"{both} = arith.andi {same}, {found} : i1"
                yield f"{either} = arith.ori {before}, {both} : i1"
                before = either
            found = before
        yield found


def _is_ordered(key: np.ndarray, order: np.ndarray, descending: bool) -> np.ndarray:
    """For each row whether each number is certainly before the next one in that order."""
    made = np.take_along_axis(key, order, -1)
    first, second = (made[..., 1:], made[..., :-1]) if descending else (made[..., :-1], made[..., 1:])
    return (first["high"] < second["low"]).all(-1, keepdims=True)


def _compare(order: str, element: str) -> str:
    if is_float(element):
        return f"arith.cmpf o{order},"
    sign = "" if order == "eq" else "u" if element == "i1" else "s"
    return f"arith.cmpi {sign}{order},"


class Sorts(Values):
    """Makers of sorts."""

    def _make_sort(self) -> Op | None:
        first = self._pick(lambda value: len(value.type.shape) > 0)
        if first is None:
            return None
        shape = first.type.shape
        fitting = [value for value in self.values if value.type.shape == shape]
        operands = (first, *self.random.choices(fitting, k=self.random.choice([0, 0, 1, 2])))
        dim = self.random.randrange(len(shape))
        limit = self.random.randint(0, shape[dim]) if self.roll(0.4) else shape[dim]
        results = tuple(
            self._new((*shape[:dim], limit, *shape[dim + 1 :]), operand.type.element, operand.bound)
            for operand in operands
        )
        return Sort(results, operands, dim, self.random.randint(1, len(operands)), self.roll(0.4))
