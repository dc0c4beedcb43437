"""Long loops of constant length stay loops: `epl.loop_*` operations round the operations of one iteration.

Problem: an unrolled `scan` over 24 layers, or a recurrence over 1000 steps, takes as long to legalize, print,
parse and compile as that many copies of its body.
Method: the body is cloned once, with a placeholder for each carried value. Scalar integers that follow from
nothing but known ones, counters above all, are computed for every iteration, so the length is known, and for
each position of a slice or update whether it counts the iterations. Then carried values are told apart: what
a body returns as it came is no part of the loop; what it updates at the iteration's position, and only there,
is a stack of the iterations' values (a scan's `ys`); slices at the iteration's position are those of a stack
(its `xs`); all else goes from one iteration to the next. A counter that is read otherwise is a slice of the
table of its numbers.
Invariant out: what depends on the iteration depends on an `epl.loop_carry` or `epl.loop_slice`; what leaves
the loop stands behind all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import scalars
from epl.adapters.jax.simplify import constant, producer

LOOP_EDGES = ("epl.loop_carry", "epl.loop_slice", "epl.loop_last", "epl.loop_stack")
_AT_POSITIONS = (
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.gather",
    "stablehlo.scatter",
)

FEWEST_ITERATIONS = 4
FEWEST_OPERATIONS = 400  # of all iterations together: fewer compile quickly, and iterations may share kernels
MOST_UNROLLED = (
    20_000  # operations of all iterations, where positions depend on the iteration in ways of their own
)
MOST_OPERATIONS = 500_000  # of all iterations of a loop that is kept: about half a minute

Numbers = dict[ir.Value, np.ndarray]


class Iteration:
    """A block of its own for the operations of one iteration, with arguments for the carried values."""

    def __init__(self, types: Sequence[ir.Type]) -> None:
        self._holder = ir.Operation.create("epl.iteration", regions=1, loc=ir.Location.unknown(), ip=False)
        self.block = ir.Block.create_at_start(self._holder.regions[0], list(types))
        self.arguments = list(self.block.arguments)

    def erase(self) -> None:
        """Ends the use of the block; operations that are still in it go, too."""
        self._holder.erase()


class Loop:
    """A loop, and what is known of its carried values.

    Args:
      iteration: holds the operations of the condition and the body.
      initial: the carried values before the first iteration.
      goes_on: the condition, in the iteration, or the number of iterations.
      following: what the iteration makes of the carried values.
      reported: what the step reports of every iteration.
    """

    def __init__(
        self,
        iteration: Iteration,
        initial: Sequence[ir.Value],
        goes_on: ir.Value | int,
        following: Sequence[ir.Value],
        reported: Sequence[ir.Value] = (),
    ) -> None:
        self._reported = list(reported)
        self.stacks: list[ir.Value] = []
        """Behind the loop what was reported of every iteration, when it is written."""
        self._arguments, self._initial, self._following = iteration.arguments, list(initial), list(following)
        self._operations = [view.operation for view in iteration.block.operations]
        self._numbers: dict[
            ir.Value, list[np.ndarray]
        ] = {}  # of scalar integers that are known in all iterations
        self._after: dict[
            int, np.ndarray
        ] = {}  # position of a counter to its number after the last iteration
        self.trip_count = goes_on if isinstance(goes_on, int) else self._count(goes_on)
        self._updates = self._find_updates()
        self._slices = self._find_slices()

    @property
    def is_kept(self) -> bool:
        """Whether the loop has a known length and is better not unrolled."""
        size = self.trip_count * len(self._operations)
        if self.trip_count < FEWEST_ITERATIONS or not FEWEST_OPERATIONS <= size <= MOST_OPERATIONS:
            return False
        return size > MOST_UNROLLED or not any(map(self._reads_elsewhere, self._moved()))

    # What is known.

    def _count(self, goes_on: ir.Value) -> int:
        """Finds the counters and counts the iterations; 0 if their number is not known."""
        computed = [op for op in self._operations if scalars.is_scalar(op)]
        start = {i: scalars.known(value) for i, value in enumerate(self._initial)}
        now = {i: number for i, number in start.items() if number is not None}
        while (after := self._following_numbers(now, self._evaluate(computed, now))).keys() != now.keys():
            now = {i: now[i] for i in after}  # without what does not follow from the others
        trip_count = 0
        while True:
            known = self._evaluate(computed, now)
            condition = _number(goes_on, known)
            if condition is None or trip_count > MOST_OPERATIONS:
                return 0
            if not condition:
                self._after = now
                return trip_count
            for value, number in known.items():
                self._numbers.setdefault(value, []).append(number)
            now = self._following_numbers(now, known)
            trip_count += 1

    def _evaluate(self, computed: Sequence[ir.Operation], counters: dict[int, np.ndarray]) -> Numbers:
        """The scalar integers that follow from the counters in one iteration."""
        known = {self._arguments[i]: number for i, number in counters.items()}
        for op in computed:
            number = scalars.evaluate(op, [_number(operand, known) for operand in op.operands])
            if number is not None:
                known[op.results[0]] = number
        return known

    def _following_numbers(self, counters: dict[int, np.ndarray], known: Numbers) -> dict[int, np.ndarray]:
        after = {i: _number(self._following[i], known) for i in counters}
        return {i: number for i, number in after.items() if number is not None}

    def _is_invariant(self, position: int) -> bool:
        return bool(self._following[position] == self._arguments[position])

    def _find_updates(self) -> dict[int, ir.Operation]:
        """Of carried values that are stacks of what the iterations make, by position, the updates."""
        found = {}
        for position, value in enumerate(self._following):
            update = producer(value, "stablehlo.dynamic_update_slice")
            if update is None or update.operands[0] != self._arguments[position]:
                continue
            is_read = (
                len(list(update.operands[0].uses)) > 1 or list(value.uses) or self._following.count(value) > 1
            )
            _, row, *starts = update.operands
            if not is_read and self._is_row(value.type, row.type, starts):
                found[position] = update
        return found

    def _find_slices(self) -> list[ir.Operation]:
        """The slices of stacks that are there before the loop."""
        changing = {a for i, a in enumerate(self._arguments) if not self._is_invariant(i)}
        changing |= {result for op in self._operations for result in op.results}
        return [
            op
            for op in self._operations
            if op.name == "stablehlo.dynamic_slice"
            and op.operands[0] not in changing
            and self._is_row(op.operands[0].type, op.results[0].type, list(op.operands)[1:])
        ]

    def _is_row(self, stack: ir.Type, part: ir.Type, starts: Sequence[ir.Value]) -> bool:
        """Whether a part is the iteration's row of a stack that has one for each iteration."""
        if stack.rank == 0 or list(part.shape) != [1, *stack.shape[1:]]:
            return False
        return bool(stack.shape[0] == self.trip_count) and self._is_reversed(starts[0]) is not None

    def _is_reversed(self, position: ir.Value) -> bool | None:
        """Whether a position counts the iterations down (True) or up (False); None if it does neither."""
        numbers = [int(number) for number in self._numbers.get(position, [])]
        up = list(range(self.trip_count))
        return False if numbers == up else True if numbers == up[::-1] else None

    def _moved(self) -> list[ir.Operation]:
        """The operations that are computed in every iteration."""
        rewritten = [*self._slices, *self._updates.values()]
        return [
            op
            for op in self._operations
            if op not in rewritten and not all(r in self._numbers for r in op.results)
        ]

    def _reads_elsewhere(self, op: ir.Operation) -> bool:
        """Whether an operation reads or writes at a position of the iteration that is no row of a stack."""
        return op.name in _AT_POSITIONS and any(operand in self._numbers for operand in op.operands)

    # The loop as operations.

    def write(self, number: int, location: ir.Location) -> list[ir.Value]:
        """Writes the loop to the insertion point, as loop `number` of the step; returns what it makes."""
        self._attribute = ir.Attribute.parse(f"#epl.loop<{number}, trip_count = {self.trip_count}>")
        moved = self._moved()
        with location:
            self._enter(moved)
            anchor = ir.InsertionPoint.current.ref_operation
            for op in moved:
                op.move_before(anchor)
            return self._leave()

    def _enter(self, moved: Sequence[ir.Operation]) -> None:
        """Puts what enters the loop in the place of arguments, slices and counters."""
        for i, argument in enumerate(self._arguments):
            if self._is_invariant(i):
                self._replace(argument, self._initial[i])
            elif i not in self._after and i not in self._updates:
                self._replace(argument, self._edge("carry", argument.type, self._initial[i], index=i))
        carried = [value for i, value in enumerate(self._following) if i not in self._after]
        carried += self._reported
        for value, numbers in list(self._numbers.items()):
            if value in carried or any(use.owner.operation in moved for use in value.uses):
                table = self._from_table(value.type, numbers)
                self._replace(value, table)
                self._numbers[table] = numbers  # it may be the position of a slice or update, too
        for op in self._slices:
            row = op.results[0]
            part = self._sliced(op.operands[0], reverse=bool(self._is_reversed(op.operands[1])))
            self._replace(row, stablehlo.ReshapeOp(row.type, part).result)

    def _replace(self, old: ir.Value, new: ir.Value) -> None:
        old.replace_all_uses_with(new)
        self._following = [new if value == old else value for value in self._following]
        self._reported = [new if value == old else value for value in self._reported]

    def _from_table(self, type_: ir.Type, numbers: Sequence[np.ndarray]) -> ir.Value:
        """A known number of each iteration, as a slice of all of them."""
        table = ir.RankedTensorType.get([self.trip_count], type_.element_type)
        values = ir.DenseElementsAttr.get(np.array(numbers), type=table)
        return self._sliced(stablehlo.ConstantOp(values).result, reverse=False)

    def _sliced(self, stack: ir.Value, reverse: bool) -> ir.Value:
        part = ir.RankedTensorType.get(stack.type.shape[1:], stack.type.element_type)
        return self._edge("slice", part, stack, reverse=reverse)

    def _leave(self) -> list[ir.Value]:
        """What is there after the loop. The rows of stacks are a part of the last iteration."""
        rows = {}
        for i, update in self._updates.items():
            stack = self._arguments[i].type
            rows[i] = stablehlo.ReshapeOp(
                ir.RankedTensorType.get(stack.shape[1:], stack.element_type), update.operands[1]
            )
        results = []
        for i, (initial, value) in enumerate(zip(self._initial, self._following, strict=True)):
            if i in rows:
                reverse = bool(self._is_reversed(self._updates[i].operands[2]))
                results.append(self._edge("stack", initial.type, rows[i].result, reverse=reverse))
            elif i in self._after:
                results.append(constant(initial.type, int(self._after[i])))
            else:
                results.append(
                    initial if value == initial else self._edge("last", initial.type, value, index=i)
                )
        self.stacks = [self._stacked(value) for value in self._reported]
        return results

    def _stacked(self, value: ir.Value) -> ir.Value:
        stack = ir.RankedTensorType.get([self.trip_count, *value.type.shape], value.type.element_type)
        return self._edge("stack", stack, value)

    def _edge(
        self, name: str, type_: ir.Type, operand: ir.Value, *, index: int | None = None, reverse: bool = False
    ) -> ir.Value:
        attributes = {"loop": self._attribute}
        if index is not None:
            attributes["index"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
        if reverse:
            attributes["reverse"] = ir.UnitAttr.get()
        return ir.Operation.create(f"epl.loop_{name}", [type_], [operand], attributes).results[0]


def _number(value: ir.Value, known: Numbers) -> np.ndarray | None:
    return known[value] if value in known else scalars.known(value)
