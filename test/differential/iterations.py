"""Loops of constant length: carried values, slices of stacks, sums over iterations, new stacks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from elementwise import Elementwise
from nest import Output, along
from ops import Arrays, Constant, Names, Op
from reductions import Reductions
from tensors import LIMITS, Value
from values import MAX_ELEMENTS

MOST_ITERATIONS = 6


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

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
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
            lines += op.text(names, fresh)
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


class Iterations(Elementwise, Reductions):
    """Makes loops: random ops in an iteration, the next carried value, and mostly a sum over all of them."""

    def _make_loop(self) -> Op | None:
        stack = self._pick(lambda v: len(v.type.shape) > 0 and 2 <= v.type.shape[0] <= MOST_ITERATIONS)
        begin = self._pick_number()
        if stack is None or begin is None:
            return None
        trip_count = stack.type.shape[0]
        part = self._new(stack.type.shape[1:], stack.type.element, stack.bound)
        first = self._new(begin.type.shape, begin.type.element, max(begin.bound, 1))
        before = self.ops, self.values
        self.ops, self.values = [], [*self.values, part, first]
        last = self._make_iteration(first)
        ops, (self.ops, self.values) = self.ops, before
        if last is None:
            return None
        made = [v for op in ops for v in op.results if math.prod(v.type.shape) * trip_count <= MAX_ELEMENTS]
        end = self._new(begin.type.shape, begin.type.element, first.bound)
        carried = [Carried(begin, first, last, end)]
        if made and (total := self._add_up(self.random.choice(made), trip_count, ops)):
            carried.append(total)
        stacked = [self._stack(self.random.choice(made), trip_count)] if made else []
        sliced = Stacked(stack, part, self.roll(0.4))
        return write_loop(end.id, trip_count, (sliced,), tuple(carried), tuple(ops), tuple(stacked))

    def _make_iteration(self, first: Value) -> Value | None:
        """Adds ops; what the carried value becomes, within [-1, 1]."""
        makers: list[Callable[[], Op | None]] = [
            self._make_pointwise,
            self._make_plain,
            self._make_reduction,
            self._make_contraction,
            self._make_product,
        ]
        for _ in range(self.random.randint(1, 4)):
            self._add(self.random.choice(makers)())
        made = [value for op in self.ops for value in op.results if value.type == first.type]
        source = self.random.choice([*made, *made, first])
        loops = tuple(range(len(first.type.shape)))
        body = self._tame(("sub", ("in", 0), ("in", 1)), first.type.element)
        op = self._finish([source, first], first.type.shape, [along(*loops)] * 2, [Output(loops, body)])
        if op is None:
            return None
        count = len(self.ops)
        self._add(dataclasses.replace(op, results=(dataclasses.replace(op.result, bound=1),)))
        return self.ops[-1].result if len(self.ops) > count else None

    def _stack(self, part: Value, trip_count: int) -> Stacked:
        stack = self._new((trip_count, *part.type.shape), part.type.element, part.bound)
        return Stacked(stack, part, self.roll(0.4))

    def _add_up(self, added: Value, trip_count: int, ops: list[Op]) -> Carried | None:
        """A sum of what iterations make, that begins at zero; adds to the ops of an iteration."""
        shape, element = added.type.shape, added.type.element
        if element == "i1" or trip_count * added.bound > LIMITS[element] or self.roll(0.3):
            return None
        total = self._new(shape, element, (trip_count - 1) * added.bound)
        loops = tuple(range(len(shape)))
        body = ("add", ("in", 0), ("in", 1))
        op = self._finish([total, added], shape, [along(*loops)] * 2, [Output(loops, body)])
        if op is None:
            return None
        zero = self._new(shape, element, 0)
        self._add(Constant((zero,), (), (0,)))
        ops.append(op)
        return Carried(zero, total, op.result, self._new(shape, element, trip_count * added.bound))
