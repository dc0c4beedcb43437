"""Loops of constant length: carried values, slices of stacks, new stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from ops import Arrays, Names, Op
from tensors import Value


@dataclass(frozen=True)
class Carried:
    """What the first iteration begins with, what each one reads, what the next one does, and the end."""

    begin: Value
    first: Value
    last: Value
    result: Value


@dataclass(frozen=True)
class Stacked:
    """A value of each iteration along a new first dimension, or the parts of one that iterations read."""

    stack: Value
    part: Value
    backwards: bool

    def get_position(self, iteration: int) -> int:
        trip_count = self.stack.type.shape[0]
        return trip_count - 1 - iteration if self.backwards else iteration

    @property
    def reverse(self) -> str:
        return " reverse" if self.backwards else ""


@dataclass(frozen=True)
class Loop(Op):
    """Iterations of `ops`, on values that only an iteration has. `number` is the loop's."""

    number: int
    trip_count: int
    sliced: tuple[Stacked, ...]
    carried: tuple[Carried, ...]
    ops: tuple[Op, ...]
    stacked: tuple[Stacked, ...]

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return self._evaluate(arrays, lambda op, local: op.evaluate(local))

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        return self._evaluate(arrays, lambda op, local: op.evaluate_ranges(local))

    def _evaluate(self, arrays: Arrays, run: Callable[[Op, Arrays], list[np.ndarray]]) -> list[np.ndarray]:
        local = {**arrays, **{each.first.id: arrays[each.begin.id] for each in self.carried}}
        parts: list[list[np.ndarray]] = [[] for _ in self.stacked]
        for iteration in range(self.trip_count):
            local |= {s.part.id: arrays[s.stack.id][s.get_position(iteration)] for s in self.sliced}
            for op in self.ops:
                for value, array in zip(op.results, run(op, local), strict=True):
                    local[value.id] = array
            for made, stack in zip(parts, self.stacked, strict=True):
                made.append(local[stack.part.id])
            local |= {each.first.id: local[each.last.id] for each in self.carried}
        ends = [local[each.first.id] for each in self.carried]
        stacks = zip(parts, self.stacked, strict=True)
        return [*ends, *(np.stack(made[::-1] if stack.backwards else made) for made, stack in stacks)]

    def text(self, names: Names, fresh: Iterator[str], location: str = "") -> list[str]:
        """With the location of the ops of an iteration, if they have one."""
        loop, names = f"<{self.number}, trip_count = {self.trip_count}>", {**names}
        lines = []
        for each in self.sliced:
            names[each.part.id] = next(fresh)
            types = f"{each.stack.type} -> {each.part.type}"
            slices = f"epl.loop_slice {loop}{each.reverse} {names[each.stack.id]} : {types}"
            lines.append(f"{names[each.part.id]} = {slices}")
        for index, each in enumerate(self.carried):
            names[each.first.id] = next(fresh)
            types = f"{each.begin.type} -> {each.first.type}"
            carries = f"epl.loop_carry {loop} {index} {names[each.begin.id]} : {types}"
            lines.append(f"{names[each.first.id]} = {carries}")
        for op in self.ops:
            names |= {value.id: next(fresh) for value in op.results}
            *before, last = op.text(names, fresh)
            lines += [*before, last + location]
        for index, each in enumerate(self.carried):
            ends = f"epl.loop_last {loop} {index} {names[each.last.id]} : {each.last.type}"
            lines.append(f"{names[each.result.id]} = {ends}")
        for each in self.stacked:
            types = f"{each.part.type} -> {each.stack.type}"
            stacks = f"epl.loop_stack {loop}{each.reverse} {names[each.part.id]} : {types}"
            lines.append(f"{names[each.stack.id]} = {stacks}")
        return lines

    def keep(self, needed: set[int]) -> Op:
        """The loop without what none of these results depends on, from one iteration to the next."""
        ops = tuple(op.trim() for op in self.ops)
        stacked = tuple(each for each in self.stacked if each.stack.id in needed)
        inner = {each.part.id for each in stacked}
        inner |= {each.last.id for each in self.carried if each.result.id in needed}
        before = 0
        while len(inner) != before:
            before = len(inner)
            for op in reversed(ops):
                if any(value.id in inner for value in op.results):
                    inner |= {operand.id for operand in op.operands}
            inner |= {each.last.id for each in self.carried if each.first.id in inner}
        kept = (each for each in self.carried if each.result.id in needed or each.first.id in inner)
        ops = tuple(op for op in ops if any(value.id in inner for value in op.results))
        sliced = tuple(each for each in self.sliced if each.part.id in inner)
        return write_loop(self.number, self.trip_count, sliced, tuple(kept), ops, stacked)


def write_loop(
    number: int,
    trip_count: int,
    sliced: tuple[Stacked, ...],
    carried: tuple[Carried, ...],
    ops: tuple[Op, ...],
    stacked: tuple[Stacked, ...],
) -> Loop:
    """The loop of these parts, with the operands and results that follow from them."""
    results = (*(each.result for each in carried), *(each.stack for each in stacked))
    inner = {each.part.id for each in sliced} | {each.first.id for each in carried}
    inner |= {value.id for op in ops for value in op.results}
    read = [each.stack for each in sliced] + [each.begin for each in carried]
    inside = [value for op in ops for value in op.operands] + [each.last for each in carried]
    inside += [each.part for each in stacked]
    operands = tuple(dict.fromkeys(read + [value for value in inside if value.id not in inner]))
    return Loop(results, operands, number, trip_count, sliced, carried, ops, stacked)
