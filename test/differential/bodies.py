"""Random bodies of loop nests."""

from __future__ import annotations

import expression as ex
from tensors import LIMITS, Value, is_float, is_integer
from values import Values

UNARY = {True: ["abs", "neg", "ceil", "floor", "roundeven"], False: ["abs"]}  # by whether on floats
BINARY = {
    True: ["add", "sub", "mul", "mul", "max", "min", "maxnum", "minnum"],
    False: ["add", "sub", "mul", "mul", "max", "min", "bitand", "bitor", "bitxor"],
}


class Bodies(Values):
    """Makers of expressions."""

    def _make_body(
        self, operands: list[Value], inputs: int, extents: tuple[int, ...], element: str
    ) -> ex.Expression:
        """A number made of all inputs and captured tensors, which stand behind the inputs."""
        leaves = [self._make_number(("in", k), operands, extents, element) for k in range(inputs)]
        leaves += [
            ex.to(element, self._make_load(k, operands, inputs, extents), operands)
            for k in range(inputs, len(operands))
        ]
        if not leaves:
            leaves = [self._make_index(len(extents), element)]
        body = leaves[0]
        for k, leaf in enumerate(leaves[1:], 1):
            body = self._combine(body, leaf, operands[k], k, element)
        return body

    def _combine(
        self, a: ex.Expression, b: ex.Expression, value: Value, k: int, element: str
    ) -> ex.Expression:
        if self.roll(0.15):
            if value.type.element == "i1" and b[-1] == ("in", k):
                return ("select", ("in", k), a, self._make_const(0, 2, element))
            return ("select", (self.random.choice(ex.COMPARISONS), a, b), a, b)
        if is_float(element) and self.roll(0.1):
            return ("fma", a, b, self._make_const(-2, 2, element))
        if self.floats and is_float(element) and self.roll(0.1):
            return ("divide", a, b)
        return (self.random.choice(BINARY[is_float(element)]), a, b)

    def _make_number(
        self, leaf: ex.Expression, operands: list[Value], extents: tuple[int, ...], element: str
    ) -> ex.Expression:
        """The leaf as that element type, and perhaps something of it."""
        leaf = ex.to(element, leaf, operands)
        if self.floats and is_float(element) and self.roll(0.2):
            return (self.random.choice(list(ex.FUNCTIONS)), leaf)
        roll = self.random.random()
        if roll < 0.1 and extents:
            return ("add", leaf, self._make_index(len(extents), element))
        if roll < 0.25:
            head = self.random.choice(BINARY[is_float(element)])
            return (head, leaf, self._make_const(-3, 3, element))
        if roll < 0.32:
            return (self.random.choice(UNARY[is_float(element)]), leaf)
        if roll < 0.4 and is_integer(element):
            head, least = self.random.choice([("div", 1), ("floordiv", 1), ("rem", 2), ("shift", 0)])
            return (head, leaf, self._make_const(least, 3, element))
        return leaf

    def _make_const(self, least: int, most: int, element: str) -> ex.Expression:
        return ex.const(self.random.randint(least, most), element, hoisted=self.roll(0.3))

    def _make_index(self, loops: int, element: str) -> ex.Expression:
        if loops == 0:
            return self._make_const(-2, 2, element)
        return ("to", element, ("index", self.random.randrange(loops)))

    def _make_load(
        self, k: int, operands: list[Value], inputs: int, extents: tuple[int, ...]
    ) -> ex.Expression:
        """An element of a captured tensor: at loops, at numbers that came in, or at a constant."""
        numbers = [i for i in range(inputs) if is_integer(operands[i].type.element)]
        indices: list[ex.Expression] = []
        for extent in operands[k].type.shape:
            loops = [loop for loop in range(len(extents)) if extents[loop] <= extent]
            number = self.random.choice(numbers) if numbers else None
            if number is not None and self.roll(0.6) and extent <= LIMITS[operands[number].type.element]:
                element = operands[number].type.element
                low = ("max", ("in", number), ex.const(0, element))
                indices.append(("to", "index", ("min", low, ex.const(extent - 1, element))))
            elif loops and self.roll(0.8):
                indices.append(("index", self.random.choice(loops)))
            else:
                indices.append(ex.const(self.random.randrange(extent), "index"))
        return ("load", k, *indices)

    def _make_bool(self, operands: list[Value], body: ex.Expression, element: str) -> ex.Expression:
        """A comparison of a number, and perhaps i1 inputs."""
        result: ex.Expression = (self.random.choice(ex.COMPARISONS), body, self._make_const(-2, 2, element))
        for k, value in enumerate(operands):
            if value.type.element == "i1":
                result = (self.random.choice(["and", "or", "xor"]), result, ("in", k))
        return ("xor", result, ex.const(1, "i1")) if self.roll(0.2) else result
