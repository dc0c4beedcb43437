"""Loops of constant length: carried values, slices of stacks, sums over iterations, new stacks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from elementwise import Elementwise
from loop import Carried, Stacked, write_loop
from nest import Output, along
from ops import Constant, Op
from reductions import Reductions
from tensors import LIMITS, Value
from values import MAX_ELEMENTS

MOST_ITERATIONS = 6


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
