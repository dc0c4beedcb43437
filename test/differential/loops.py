"""Random loop nests: what elementwise ops, reductions and contractions have in common."""

from __future__ import annotations

import dataclasses
import math

import expression as ex
from bodies import Bodies
from named import find_names
from nest import Map, Nest, Output, Walk, along
from tensors import LIMITS, Value
from values import MAX_RANK

MAX_ITERATIONS = 2**16


class Loops(Bodies):
    """Picks operands and loops; `_finish` makes a nest of them, or None if its numbers become too large."""

    # Operands

    def _match(self, value: Value, extents: tuple[int, ...]) -> Map | None:
        """Loops of the right extents for the dimensions of `value`, in any order; extent 1 may need none."""
        walks: list[Walk] = []
        free = set(range(len(extents)))
        for extent in value.type.shape:
            loops = [loop for loop in sorted(free) if extents[loop] == extent]
            if not loops and extent != 1:
                return None
            if not loops:
                walks.append(Walk())
                continue
            loop = self.random.choice(loops)
            walks.append(Walk(((loop, -1),), extent - 1) if self.roll(0.04) else Walk(((loop, 1),)))
            if not self.roll(0.05):  # else another dimension may walk along the same loop: a diagonal
                free.remove(loop)
        return tuple(walks)

    def _pick_inputs(self, base: Value, extents: tuple[int, ...]) -> tuple[list[Value], list[Map]]:
        """`base`, walked in order, and up to two more values that fit the loops."""
        inputs, maps = [base], [along(*range(len(base.type.shape)))]
        for _ in range(self.random.randint(0, 2)):
            other = self._pick()
            map_ = self._match(other, extents) if other else None
            if other and map_ is not None:
                inputs.append(other)
                maps.append(map_)
        return inputs, maps

    def _pick_captured(self) -> list[Value]:
        table = self._pick(lambda value: 0 not in value.type.shape) if self.roll(0.12) else None
        return [table] if table else []

    # Bounds

    def _finish(
        self, operands: list[Value], extents: tuple[int, ...], maps: list[Map], outputs: list[Output]
    ) -> Nest | None:
        """The op of a loop nest, if it is not too large and its numbers are not."""
        if math.prod(extents) > MAX_ITERATIONS or len(extents) > MAX_RANK + 2:
            return None
        if self.floats and any(ex.makes_integers(output.body, operands) for output in outputs):
            return None
        starts = iter(operands[len(operands) - sum(output.init is None for output in outputs) :])
        results, tamed = [], []
        for output in outputs:
            element = ex.get_element(output.body, operands)
            start = next(starts).bound if output.init is None else 0
            for body in (output.body, ex.clamp(output.body, operands), self._tame(output.body, element)):
                tamed_output = dataclasses.replace(output, body=body)
                bound = self._get_bound(tamed_output, operands, extents, start)
                if bound is not None:
                    break
            else:
                return None
            tamed.append(tamed_output)
            results.append(self._new(tuple(extents[loop] for loop in output.kept), element, bound))
        nest = Nest(tuple(results), tuple(operands), extents, tuple(maps), tuple(tamed))
        names = find_names(nest)
        return self.random.choice(names) if names and self.roll(0.5) else nest

    def _tame(self, body: ex.Expression, element: str) -> ex.Expression:
        """The body within [-1, 1]: what products need."""
        return (
            body if element == "i1" else ("min", ("max", body, ex.const(-1, element)), ex.const(1, element))
        )

    def _get_bound(
        self, output: Output, operands: list[Value], extents: tuple[int, ...], start: int
    ) -> int | None:
        bound = ex.bound(output.body, operands, extents)
        if bound is None or output.reduction is None:
            return bound
        kept = math.prod(extents[loop] for loop in output.kept)
        count = math.prod(extents) // kept if kept else 0
        if isinstance(output.init, int):
            start = abs(output.init)
        element = ex.get_element(output.body, operands)
        if element == "i1":
            return 1
        if output.reduction == "sum":
            bound = bound * count + start
        elif output.reduction == "prod":
            bound = max(bound, 1) ** min(count, 64) * max(start, 1)
        elif output.reduction in ("max", "min"):
            if count == 0:
                return None
            bound = max(bound, start)
        else:
            bound = ex.fill_bits(bound, start)
        return bound if bound <= LIMITS[element] else None

    # Choices

    def _choose_element(self, values: list[Value]) -> str:
        """The type of one of them, or another one."""
        elements = [value.type.element for value in values if value.type.element != "i1"]
        return self._pick_element() if not elements or self.roll(0.2) else self.random.choice(elements)

    def _permute(self, loops: range | list[int], probability: float) -> tuple[int, ...]:
        loops = list(loops)
        if self.roll(probability):
            self.random.shuffle(loops)
        return tuple(loops)

    def _make_result_body(
        self, operands: list[Value], inputs: int, extents: tuple[int, ...]
    ) -> ex.Expression:
        element = self._choose_element(operands[:inputs])
        body = self._make_body(operands, inputs, extents, element)
        return self._make_bool(operands[:inputs], body, element) if self.roll(0.15) else body
