"""Random contractions, convolutions and poolings."""

from __future__ import annotations

import math

import expression as ex
from loops import Loops
from named import CONTRACTIONS
from nest import Output, Walk, along
from ops import Constant, Empty, Op
from program import Argument
from tensors import Type, Value
from values import INPUT_BOUND, MAX_ELEMENTS


class Contractions(Loops):
    """Makers of sums of products; they give None if they find no operands that fit."""

    def _make_contraction(self) -> Op | None:
        a, b = self._pick_number(1), self._pick_number(1)
        if a is None or b is None:
            return None
        extents, walks = list(a.type.shape), []
        shared: list[int] = []
        for extent in b.type.shape:
            loops = [i for i in range(len(a.type.shape)) if extents[i] == extent and i not in shared]
            if loops and self.roll(0.8):
                shared.append(self.random.choice(loops))
                walks.append(shared[-1])
            else:
                walks.append(len(extents))
                extents.append(extent)
        reduced = {loop for loop in shared if self.roll(0.8)}
        if not reduced:
            return None
        kept = self._permute([loop for loop in range(len(extents)) if loop not in reduced], 0.3)
        element = self._choose_element([a, b])
        body = ("mul", *(ex.to(element, ("in", k), [a, b]) for k in range(2)))
        maps = [along(*range(len(a.type.shape))), along(*walks)]
        return self._finish([a, b], tuple(extents), maps, [Output(kept, body, "sum")])

    def _make_product(self) -> Op | None:
        """A contraction that has a name, of weights that fit the first operand."""
        spec = self.random.choice(list(CONTRACTIONS))
        first, second, _ = spec.replace("->", ",").split(",")
        a = self._pick(lambda value: value.type.element != "i1" and len(value.type.shape) == len(first))
        if a is None:
            return None
        extents = dict(zip(first, a.type.shape, strict=True))
        for letter in second:
            extents.setdefault(letter, self.random.choice([*self.extents, self.batch]))
        b = self._pick_weights(Type(tuple(extents[letter] for letter in second), a.type.element))
        return self._multiply(spec, a, b) if b else None

    def _multiply(self, spec: str, a: Value, b: Value) -> Op | None:
        """The product that has a letter for each loop."""
        first, second, kept = spec.replace("->", ",").split(",")
        extents = dict(zip(second, b.type.shape, strict=True)) | dict(zip(first, a.type.shape, strict=True))
        loops = {letter: loop for loop, letter in enumerate(dict.fromkeys(first + second))}
        maps = [along(*(loops[letter] for letter in letters)) for letters in (first, second)]
        output = Output(tuple(loops[letter] for letter in kept), ("mul", ("in", 0), ("in", 1)), "sum")
        return self._finish([a, b], tuple(extents[letter] for letter in loops), maps, [output])

    def _pick_weights(self, type_: Type) -> Value | None:
        """A value of that type, mostly a new argument."""
        value = self._pick(lambda value: value.type == type_)
        if (value and self.roll(0.5)) or math.prod(type_.shape) > MAX_ELEMENTS:
            return value
        value = self._new(type_.shape, type_.element, INPUT_BOUND)
        self.arguments.append(Argument(value, self.random.choice(["state", "constant"])))
        self.values.append(value)
        return value

    def _make_window(self) -> Op | None:
        """A convolution or a pooling along one or two dimensions."""
        base = self._pick_number(1)
        if base is None:
            return None
        rank = len(base.type.shape)
        walks, extents = list(along(*range(rank))), list(base.type.shape)
        for dim in self.random.sample(range(rank), min(rank, self.random.randint(1, 2))):
            size, step, dilation = (
                self.random.choice([2, 3]),
                self.random.randint(1, 2),
                self.random.randint(1, 2),
            )
            room = extents[dim] - (size - 1) * dilation
            if room < 1:
                return None
            walks[dim] = Walk(((dim, step), (len(extents), dilation)))
            extents[dim] = (room - 1) // step + 1
            extents.append(size)
        element, window = base.type.element, tuple(extents[rank:])
        pools = self.roll(0.4)
        if pools:
            shape: Op = Empty((self._new(window, element, 0),), ())
            self.ops.append(shape)  # says how large the window is, nothing else
        else:
            numbers = tuple(self.random.randint(-1, 2) for _ in range(math.prod(window)))
            shape = Constant((self._new(window, element, 2),), (), numbers)
            self._add(shape)
        kind = self.random.choice(["sum", "sum", "max", "min"])
        body = ("in", 0) if pools else ("mul", ("in", 0), ("in", 1))
        maps = [tuple(walks), along(*range(rank, len(extents)))]
        init = "extreme" if self.roll(0.5) else "neutral"
        output = Output(tuple(range(rank)), body, kind, init)
        return self._finish([base, shape.result], tuple(extents), maps, [output])
