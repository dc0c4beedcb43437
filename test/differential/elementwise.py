"""Random elementwise nests."""

from __future__ import annotations

import expression as ex
from loops import Loops
from nest import Map, Output, Walk, along
from ops import Op
from tensors import Type, Value, is_float
from values import MAX_RANK


class Elementwise(Loops):
    """Makers of nests without a reduction; they give None if they find no operands that fit."""

    def _make_pointwise(self) -> Op | None:
        base = self._pick()
        if base is None:
            return None
        extents, map_ = self._stretch(base)
        inputs, maps = self._pick_inputs(base, extents)
        maps[0] = map_
        operands = [*inputs, *self._pick_captured()]
        outputs = [
            Output(
                self._permute(range(len(extents)), 0.2),
                self._make_result_body(operands, len(inputs), extents),
            )
            for _ in range(self.random.choices([1, 2, 3], [8, 2, 1])[0])
        ]
        return self._finish(operands, extents, maps, outputs)

    def _stretch(self, base: Value) -> tuple[tuple[int, ...], Map]:
        """Loops over a value: its own, and rarely one more, or steps of two or backwards in one of them."""
        extents, walks = list(base.type.shape), list(along(*range(len(base.type.shape))))
        if self.roll(0.15) and len(extents) < MAX_RANK:
            extents.append(self.random.choice([*self.extents, self.batch]))
        elif self.roll(0.08) and walks:
            dim = self.random.randrange(len(walks))
            extent = extents[dim]
            if self.roll(0.5):
                walks[dim] = Walk(((dim, -1),), extent - 1)
            elif extent > 1:
                walks[dim], extents[dim] = Walk(((dim, 2),), self.random.randint(0, 1)), extent // 2
        return tuple(extents), tuple(walks)

    def _make_plain(self) -> Op | None:
        """What has a name: a transposition, a broadcast, a conversion, one operator."""
        base = self._pick()
        if base is None:
            return None
        extents, element = base.type.shape, base.type.element
        rank, loops = len(extents), along(*range(len(extents)))
        kind = self.random.choice(["transpose", "broadcast", "convert", "operator", "operator"])
        if kind == "transpose":
            return self._finish([base], extents, [loops], [Output(self._permute(range(rank), 1), ("in", 0))])
        if kind == "broadcast" and rank < MAX_RANK:
            dim = self.random.randint(0, rank)
            extents = (*extents[:dim], self.random.choice([*self.extents, self.batch]), *extents[dim:])
            map_ = along(*(loop for loop in range(rank + 1) if loop != dim))
            return self._finish([base], extents, [map_], [Output(tuple(range(rank + 1)), ("in", 0))])
        if kind == "convert":
            body = ex.to(self._pick_element(), ("in", 0), [base])
            return self._finish([base], extents, [loops], [Output(tuple(range(rank)), body)])
        return self._make_operator(base, element)

    def _make_operator(self, base: Value, element: str) -> Op | None:
        other = self._pick(lambda value: value.type == base.type) or base
        extents = base.type.shape
        loops, kept = along(*range(len(extents))), tuple(range(len(extents)))
        heads = [head for head, operator in ex.OPERATORS.items() if operator.bound.__code__.co_argcount == 2]
        if not self.floats:
            heads.remove("divide")
        if element == "i1":
            heads = ["and", "or", "xor"]
        elif is_float(element):
            heads = [head for head in heads if ex.OPERATORS[head].float_op]
        else:
            heads = [
                head for head in heads if head not in ("div", "floordiv", "rem", "shift", "and", "or", "xor")
            ]
            heads = [head for head in heads if ex.OPERATORS[head].int_op]
        condition = self._pick(lambda value: value.type == Type(extents, "i1"))
        if condition and self.roll(0.3):
            body: ex.Expression = ("select", ("in", 0), ("in", 1), ("in", 2))
            return self._finish([condition, base, other], extents, [loops] * 3, [Output(kept, body)])
        body = (self.random.choice(heads), ("in", 0), ("in", 1))
        return self._finish([base, other], extents, [loops] * 2, [Output(kept, body)])

    def _make_iota(self) -> Op | None:
        extents = tuple(
            self.random.choice([*self.extents, self.batch]) for _ in range(self.random.randint(1, 2))
        )
        body = self._make_index(len(extents), self._pick_element())
        return self._finish([], extents, [], [Output(tuple(range(len(extents))), body)])
