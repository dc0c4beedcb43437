"""Random programs. Every value carries a bound, so that all of its sums are exact whatever their order."""

from __future__ import annotations

from collections.abc import Callable

from moves import Moves
from nests import LoopNest, LoopNests, in_order
from ops import Op, Value
from program import Argument, Program
from values import EXTENTS

INPUT_BOUND = 3


def make_program(seed: int, devices: int) -> Program:
    """A program whose batches can be divided among `devices`."""
    return Generator(seed, devices).run()


class Generator(LoopNests, Moves):
    """Adds random ops to a program, then results."""

    def run(self) -> Program:
        self._add_arguments()
        makers: dict[Callable[[], Op | None], int] = {
            self._make_pointwise: 8,
            self._make_reduction: 4,
            self._make_contraction: 5,
            self._make_window: 1,
            self._make_collapse: 1,
            self._make_expand: 1,
            self._make_extract_slice: 1,
            self._make_insert_slice: 1,
            self._make_pad: 1,
            self._make_concatenate: 1,
            self._make_constant: 1,
        }
        for _ in range(self.random.randint(6, 20)):
            self._add(self.random.choices(list(makers), list(makers.values()))[0]())
        results = self._make_results()
        cuts = sorted(self.random.randint(0, len(self.ops)) for _ in range(4))
        return Program(
            tuple(self.arguments),
            tuple(self.ops),
            tuple(results),
            phases=(cuts[1], cuts[2]) if self.random.random() < 0.5 else None,
            scope=(cuts[0], cuts[3]) if self.random.random() < 0.3 and cuts[0] < cuts[3] else None,
            seed=self.seed,
        ).prune()

    # Arguments and results

    def _add_arguments(self) -> None:
        for role, least, most in (("batch", 1, 3), ("state", 0, 3), ("constant", 0, 2)):
            for _ in range(self.random.randint(least, most)):
                shape = [self.random.choice(EXTENTS) for _ in range(self.random.randint(0, 2))]
                batch_dim = self.random.choice([0, 0, 0, len(shape)])
                if role == "batch":
                    shape.insert(batch_dim, self.batch)
                value = self._new(tuple(shape), self.element, INPUT_BOUND)
                self.arguments.append(Argument(value, role, batch_dim))
                self.values.append(value)

    def _make_results(self) -> list[tuple[Value, int | None]]:
        """The next value of every state, and values that nothing reads yet."""
        results: list[tuple[Value, int | None]] = []
        for index, argument in enumerate(self.arguments):
            if argument.role == "state":
                results.append((self._make_update(argument.value), index))
        read = {operand.id for op in self.ops for operand in op.operands}
        unread = [
            op.result
            for op in self.ops
            if op.result.id not in read and all(op.result != v for v, _ in results)
        ]
        results += [(value, None) for value in unread[-4:]]
        return results or [(self.values[-1], None)]

    def _make_update(self, state: Value) -> Value:
        candidates = [op.result for op in self.ops if op.result.type == state.type]
        if candidates:
            return self.random.choice(candidates)
        maps = [in_order(state.type)]
        loops = tuple(range(len(state.type.shape)))
        op = self._finish(LoopNest([state], maps, state.type.shape, loops, ("sub", ("const", 1), ("in", 0))))
        if op is None or self.random.random() < 0.1:
            return state  # comes back as it was
        self._add(op)
        return op.result
