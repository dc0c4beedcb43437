"""Random programs. Every value carries a bound, so that all of its sums are exact whatever their order."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import expression as ex
from branches import Branches
from indexed import Indexed
from iterations import Iterations
from layout import Layout, make_sharding
from loop import Loop
from moves import Moves
from nest import Output, along
from ops import Concatenate, Empty, ExtractSlice, Op, Pad, Place
from program import Argument, Program, Region
from sorts import Sorts
from systems import Systems
from tensors import Value
from values import INPUT_BOUND, MAX_ELEMENTS

Makers = dict[Callable[[], Op | None], int]  # and how often each is chosen


def make_program(seed: int, layout: Layout, floats: str = "", micro_batches: int = 1) -> Program:
    """A program that mostly can be laid out so, on integers or on some kind of floats."""
    return Generator(seed, layout, floats, micro_batches).run()


class Generator(Iterations, Branches, Moves, Indexed, Sorts, Systems):
    """Adds random ops to a program, then results."""

    stack: Value | None = None

    def run(self) -> Program:
        stacked = self.layout.apart and self.roll(0.4)
        self._add_arguments()
        if stacked:
            self._add_stack_argument()
        makers: Makers = {
            self._make_pointwise: 8,
            self._make_plain: 4,
            self._make_reduction: 5,
            self._make_contraction: 4,
            self._make_product: 2,
            self._add_layer: 8 if any(kind == "split" for kind, _ in self.layout.strategies) else 1,
            self._add_branch: 5,
            self._make_window: 1,
            self._make_arg_reduction: 1,
            self._make_iota: 1,
            self._make_collapse: 1,
            self._make_expand: 1,
            self._make_extract_slice: 1,
            self._make_insert_slice: 1,
            self._make_pad: 1,
            self._make_concatenate: 1,
            self._add_row: 8 if stacked else 1,
            self._make_stack: 6 if stacked else 1,
            self._make_gather: 2,
            self._make_scatter: 2,
            self._make_sort: 1,
            self._make_loop: 3,
            self._make_solve: 1,
            self._make_constant: 1,
            self._make_constrain: 3,
            self._make_spread: 1,
            self._make_again: 2,
        }
        if self.micro_batches > 1 and not self.floats:
            makers[self._add_statistic] = 4
        if stacked and self.micro_batches > 1:
            regions, phases = self._add_stages(makers)
            results = self._make_results()
        else:
            self._add_some(makers, self.random.randint(6, 50 if self.roll(0.05) else 20))
            results = self._make_results()
            cuts = sorted(self.random.randint(0, len(self.ops)) for _ in range(4))
            regions = self._make_regions(cuts[0], cuts[3])
            phases = (cuts[1], cuts[2]) if self.roll(0.5) else None
            if self.layout.apart and self.micro_batches > 1:
                regions, phases = self._make_stages()
        return Program(
            tuple(map(self._shard, self.arguments)),
            tuple(self.ops),
            tuple(results),
            phases=phases,
            regions=regions,
            default_strategy=self.layout.outside is not None
            or (not regions and (self.layout.says_strategy or self.roll(0.3))),
            layout=self.layout,
            named=self.roll(0.5),
            floats=self.floats,
            seed=self.seed,
        ).prune()

    def _add_some(self, makers: Makers, count: int) -> None:
        for _ in range(count):
            self._add(self.random.choices(list(makers), list(makers.values()))[0]())

    # Regions

    def _make_regions(self, begin: int, end: int) -> tuple[Region, ...]:
        """One of the ops between two positions, or several, one behind the other, if scopes are apart."""
        if self.layout.apart:
            return self._make_regions_apart()
        one = self.layout.outside is not None or self.roll(0.3)
        return (Region(begin, end),) if one and begin < end else ()

    def _make_regions_apart(self) -> tuple[Region, ...]:
        """Scopes in turn, in most programs also backwards, as gradients are made, or once more anyhow."""
        forward = list(range(len(self.layout.scopes)))
        again = self.random.choice([[], forward[::-1], self.random.choices(forward, k=2)])
        return self._cut_regions(forward + again)

    def _make_stages(self) -> tuple[tuple[Region, ...], tuple[int, int] | None]:
        """Scopes as stages of a pipeline: data flows forwards through them, then backwards."""
        forward = list(range(len(self.layout.scopes)))
        if self.roll(0.25):
            return self._cut_regions(forward), None
        regions = self._cut_regions(forward + forward[::-1])
        last = self.random.randint(regions[-1].begin, len(self.ops))
        return regions, (regions[len(forward)].begin, max(last, regions[-1].end))

    def _add_stages(self, makers: Makers) -> tuple[tuple[Region, ...], tuple[int, int] | None]:
        """The same, where each stage reads a row of stacked parameters."""
        forward = list(range(len(self.layout.scopes)))
        order = forward if self.roll(0.25) else forward + forward[::-1]
        regions = []
        for scope in order:
            begin = len(self.ops)
            if len(regions) < len(forward) or self.roll(0.5):
                self._add(self._add_row())
            self._add_some(makers, self.random.randint(1, 4))
            regions.append(Region(begin, len(self.ops), scope))
        if order == forward:
            return tuple(regions), None
        return tuple(regions), (regions[len(forward)].begin, regions[-1].end)

    def _cut_regions(self, order: list[int]) -> tuple[Region, ...]:
        cuts = [self.random.randint(0, len(self.ops)) for _ in range(2 * len(order) - 2)]
        if self.roll(0.5):  # without gaps
            cuts = 2 * cuts[: len(order) - 1]
        cuts = sorted([0, *cuts, len(self.ops)])
        return tuple(map(Region, cuts[::2], cuts[1::2], order))

    # Arguments and results

    def _add_statistic(self) -> Op | None:
        """A statistic of samples, and what samples are beside it: as batch normalization has them."""
        batches = [a for a in self.arguments if a.role == "batch" and a.value.type.element != "i1"]
        if not batches:
            return None
        argument = self.random.choice(batches)
        base, extents = argument.value, argument.value.type.shape
        loops = tuple(range(len(extents)))
        kept = tuple(loop for loop in loops if loop != argument.batch_dim)
        output = Output(kept, ("in", 0), self.random.choice(["sum", "sum", "max"]), "extreme")
        statistic = self._finish([base], extents, [along(*loops)], [output])
        if statistic is None:
            return None
        self._add(statistic)
        body = (self.random.choice(["sub", "max"]), ("in", 0), ("in", 1))
        maps = [along(*loops), along(*kept)]
        return self._finish([base, statistic.result], extents, maps, [Output(loops, body)])

    def _add_arguments(self) -> None:
        for role, least, most in (
            ("batch", 0 if self.roll(0.03) else 1, 3),
            ("state", 0, 3),
            ("constant", 0, 2),
        ):
            for _ in range(self.random.randint(least, most)):
                shape = [self.random.choice(self.extents) for _ in range(self.random.randint(0, 2))]
                length = self.batch * (self.random.choice([2, 3]) if self.roll(0.15) else 1)
                while math.prod(shape) * length > MAX_ELEMENTS:
                    shape.pop()
                batch_dim = self.random.choice([0, 0, 0, len(shape)])
                if role == "batch":
                    shape.insert(batch_dim, length)  # batches may differ in length
                element = "i1" if self.roll(0.08) else self._pick_element()
                value = self._new(tuple(shape), element, 1 if element == "i1" else INPUT_BOUND)
                self.arguments.append(Argument(value, role, batch_dim))
                self.values.append(value)
        if not self.arguments:
            self._add(self._make_constant())

    def _shard(self, argument: Argument) -> Argument:
        """The argument with a sharding by hand, if there is a mesh for that."""
        axes = dict(self.layout.mesh)
        needed = argument.role == "batch" and "data" not in axes
        if not axes or not (needed or self.roll(0.7)):
            return argument
        sharding = make_sharding(self.random, axes, argument.value.type.shape)
        return dataclasses.replace(argument, sharding=sharding)

    def _make_results(self) -> list[tuple[Value, int | None]]:
        """The next value of every state, values that nothing reads yet, and rarely any others."""
        results: list[tuple[Value, int | None]] = []
        for index, argument in enumerate(self.arguments):
            if argument.role == "state":
                results.append((self._make_update(argument.value), index))
        taken = {operand.id for op in self.ops for operand in op.operands} | {
            value.id for value, _ in results
        }
        unread = [value for op in self.ops for value in op.results if value.id not in taken]
        results += [(value, None) for value in unread[-4:]]
        if self.roll(0.1):
            results.append((self.random.choice(self.values), None))
        return results or [(self.values[-1], None)]

    def _make_again(self) -> Op | None:
        """An op once more, perhaps on other operands: what the compiler may compute or compile just once."""
        op = self.random.choice([op for op in self.ops if not isinstance(op, Empty | Loop)] or [None])
        if op is None:
            return None
        operands = tuple(self._pick_like(operand) if self.roll(0.7) else operand for operand in op.operands)
        results = tuple(self._new(value.type.shape, value.type.element, value.bound) for value in op.results)
        return dataclasses.replace(op, results=results, operands=operands)

    def _pick_stack(self) -> Value | None:
        """An argument that may be one of stacked parameters; mostly the one that was added as such."""
        if self.stack and self.roll(0.9):
            return self.stack
        stacks = [
            argument.value
            for argument in self.arguments
            if argument.role != "batch" and argument.value.type.shape and argument.value.type.shape[0] > 1
        ]
        return self.random.choice(stacks or [None])

    def _add_stack_argument(self) -> None:
        shape = [self.random.choice(self.extents) for _ in range(self.random.randint(0, 2))]
        shape.insert(0, self.random.randint(2, 5))
        while math.prod(shape) > MAX_ELEMENTS:
            shape.pop()
        value = self._new(tuple(shape), self._pick_element(), INPUT_BOUND)
        self.arguments.append(Argument(value, self.random.choice(["state", "state", "constant"]), 0))
        self.values.append(value)
        self.stack = value

    def _add_row(self) -> Op | None:
        """A row, and mostly something of it and of others like it."""
        row = self._make_row()
        if row and self.roll(0.9):
            self._add(row)
            return self._make_next(row.result)
        return row

    def _make_row(self) -> Op | None:
        """A row of stacked parameters, rarely several."""
        stack = self._pick_stack()
        if stack is None or 0 in stack.type.shape:
            return None
        rows, *shape = stack.type.shape
        count = min(rows, self.random.choice([1, 1, 1, 2]))
        first = self.random.randint(0, rows - count)
        place = Place((first, *(0 for _ in shape)), (count, *shape), (1,) * (1 + len(shape)))
        keeps = count > 1 or self.roll(0.5)
        result = self._new((count, *shape) if keeps else tuple(shape), stack.type.element, stack.bound)
        return ExtractSlice((result,), (stack,), place)

    def _make_stack(self) -> Op | None:
        """Rows together, as the gradients of stacked parameters are; or a row among zeros."""
        stack = self._pick_stack()
        if stack is None:
            return None
        rows, element = stack.type.shape[0], stack.type.element
        fitting = [
            value
            for value in self.values
            if value.type.element == element
            and len(value.type.shape) == len(stack.type.shape)
            and value.type.shape[1:] == stack.type.shape[1:]
            and 0 < value.type.shape[0] < rows
        ]
        operands: list[Value] = []
        while left := rows - sum(operand.type.shape[0] for operand in operands):
            fitting = [value for value in fitting if value.type.shape[0] <= left]
            if not fitting:
                return None
            operands.append(self.random.choice(fitting))
        result = self._new(stack.type.shape, element, max(operand.bound for operand in operands))
        if self.roll(0.7):
            return Concatenate((result,), tuple(operands), 0, "epl.concatenate")
        part = operands[0].type.shape[0]
        before = self.random.randint(0, rows - part)
        others = (0,) * (len(stack.type.shape) - 1)
        return Pad((result,), (operands[0],), (before, *others), (rows - part - before, *others), 0)

    def _pick_like(self, value: Value) -> Value:
        return self._pick(lambda other: other.type == value.type and other.bound <= value.bound) or value

    def _make_update(self, state: Value) -> Value:
        candidates = [value for op in self.ops for value in op.results if value.type == state.type]
        if self.roll(0.5) and (op := self._make_next(state)):
            self._add(op)
            candidates = [op.result]
        elif self.roll(0.1):  # another argument's, or its own
            candidates = [argument.value for argument in self.arguments if argument.value.type == state.type]
        if candidates:
            return self.random.choice(candidates)
        op = self._count_down(state)
        assert op is not None, "a state's numbers are small"
        self._add(op)
        return op.result

    def _make_next(self, state: Value) -> Op | None:
        """What an optimizer does: a nest over the state and other values of its shape."""
        extents, element = state.type.shape, state.type.element
        if element == "i1":
            return None
        operands, maps = self._pick_inputs(state, extents)
        body = self._make_body(operands, len(operands), extents, element)
        return self._finish(operands, extents, maps, [Output(tuple(range(len(extents))), body)])

    def _count_down(self, state: Value) -> Op | None:
        loops, element = tuple(range(len(state.type.shape))), state.type.element
        body = ("xor" if element == "i1" else "sub", ("in", 0), ex.const(1, element))
        return self._finish([state], state.type.shape, [along(*loops)], [Output(loops, body)])
