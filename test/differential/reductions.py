"""Random reductions."""

from __future__ import annotations

import expression as ex
from loops import Loops
from nest import ArgReduce, Output, along
from ops import Op
from tensors import Type, Value, is_float


class Reductions(Loops):
    """Makers of reductions; they give None if they find no operands that fit."""

    def _make_reduction(self) -> Op | None:
        base = self._pick(lambda value: len(value.type.shape) > 0)
        if base is None:
            return None
        extents = base.type.shape
        kept = [loop for loop in range(len(extents)) if self.roll(0.5)]
        if len(kept) == len(extents):
            kept.pop()
        inputs, maps = self._pick_inputs(base, extents)
        if self.roll(0.3):
            inputs, maps = inputs[:1], maps[:1]
        operands = [*inputs, *(self._pick_captured() if self.roll(0.3) else [])]
        outputs, starts = [], []
        for _ in range(self.random.choices([1, 2], [6, 1])[0]):
            output, start = self._make_reduced(operands, len(inputs), extents, kept)
            outputs.append(output)
            starts += [start] if start else []
        return self._finish([*operands, *starts], extents, maps, outputs)

    def _make_reduced(
        self, operands: list[Value], inputs: int, extents: tuple[int, ...], kept: list[int]
    ) -> tuple[Output, Value | None]:
        """A reduction and the value that it starts from, if it is one: mostly it is what is neutral."""
        body: ex.Expression = ("in", 0)
        if operands[0].type.element == "i1" or not (inputs == 1 and self.roll(0.4)):
            body = self._make_result_body(operands, inputs, extents)
        element = ex.get_element(body, operands)
        kinds = ["sum", "sum", "sum", "sum", "max", "max", "min", "prod"]
        if element == "i1":
            kinds = ["or", "or", "and", "and", "xor"]
        elif not is_float(element):
            kinds += ["or", "and", "xor"]
        kind = self.random.choice(kinds)
        order = self._permute(kept, 0.2)
        start = None
        if self.roll(0.1):
            type_ = Type(tuple(extents[loop] for loop in order), element)
            start = self._pick(lambda value: value.type == type_)
        if start:
            return Output(order, body, kind, None), start
        init = self.random.choice([0, 1] if element == "i1" else [-1, 2, 3])
        if self.roll(0.9):
            return Output(order, body, kind, "extreme" if self.roll(0.6) else "neutral"), None
        return Output(order, body, kind, init), None

    def _make_arg_reduction(self) -> Op | None:
        base = self._pick_number(1)
        if base is None or 0 in base.type.shape:
            return None
        shape = base.type.shape
        dim, kind = self.random.randrange(len(shape)), self.random.choice(["max", "min"])
        element = self.random.choice(["i32", "i64"])
        kept = tuple(loop for loop in range(len(shape)) if loop != dim)
        rest = tuple(shape[loop] for loop in kept)
        results = (self._new(rest, base.type.element, base.bound), self._new(rest, element, shape[dim] - 1))
        outputs = (Output(kept, ("in", 0), kind, "extreme"), Output(kept, ("in", 0), "sum", 0))
        return ArgReduce(results, (base,), shape, (along(*range(len(shape))),), outputs, dim, kind)
