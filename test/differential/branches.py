"""Random branches: what only one side of a selection by a scalar reads."""

from __future__ import annotations

from collections.abc import Callable

from layers import Layers
from nest import Output, along
from ops import Op
from reductions import Reductions
from tensors import Value


class Branches(Layers, Reductions):
    """Adds a condition, work behind it, and a selection; stops where there is nothing to select from."""

    def _add_branch(self) -> None:
        condition = self._put(self._make_condition())
        if condition is None:
            return
        first, known = len(self.ops), len(self.values)
        makers: list[Callable[[], Op | None]] = [
            self._make_contraction,
            self._make_product,
            self._make_reduction,
            self._make_pointwise,
            self._make_plain,
            self._add_layer,
        ]
        for _ in range(self.random.randint(2, 6)):
            self._add(self._add_branch() if self.roll(0.05) else self.random.choice(makers)())
        made = [value for op in self.ops[first:] for value in op.results if value in self.values]
        if not made:
            return
        one = self.random.choice(made)
        other = self._pick(lambda value: value.type == one.type and value != one) or one
        if self.roll(0.5):
            one, other = other, one
        taken = self._put(self._select(condition, one, other))
        if taken and self.roll(0.8):  # nothing else reads what is in the branches
            self.values[known:] = [taken]

    def _make_condition(self) -> Op | None:
        """Whether any element, or all, are large; of the whole batch, as a rule."""
        base = self._pick_number(0)
        if base is None:
            return None
        extents = base.type.shape
        body = ("gt", ("in", 0), ("const", self.random.choice([-1, 0, 1]), base.type.element, False))
        kind = self.random.choice(["or", "and"]) if extents else None
        return self._finish([base], extents, [along(*range(len(extents)))], [Output((), body, kind)])

    def _select(self, condition: Value, one: Value, other: Value) -> Op | None:
        loops = tuple(range(len(one.type.shape)))
        body = ("select", ("in", 0), ("in", 1), ("in", 2))
        maps = [(), along(*loops), along(*loops)]
        return self._finish([condition, one, other], one.type.shape, maps, [Output(loops, body)])
