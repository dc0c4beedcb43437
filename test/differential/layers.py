"""Random layers of models: what a split divides, along the dimensions of their parameters."""

from __future__ import annotations

from contractions import Contractions
from nest import Output, along
from ops import Concatenate, ExtractSlice, Op, Place, Reshape
from program import Argument
from tensors import Type, Value, is_float
from values import INPUT_BOUND


class Layers(Contractions):
    """Adds a few ops at a time; stops, with None, where numbers or tensors become too large."""

    def _add_layer(self) -> None:
        base = self._pick_features()
        made = self.random.choice([self._add_perceptron, self._add_heads, self._add_parts])(base)
        if made and self.roll(0.7):
            self._add_way_back(made, base)

    def _pick_features(self) -> Value:
        """A tensor whose last dimension is one of features: a batch if there is none yet."""
        base = self._pick(lambda value: is_float(value.type.element) and len(value.type.shape) in (2, 3))
        if base and 0 not in base.type.shape:
            return base
        element = next(filter(is_float, self.elements), "f32")
        base = self._new((self.batch, self._pick_width()), element, INPUT_BOUND)
        self.arguments.append(Argument(base, "batch"))
        self.values.append(base)
        return base

    def _pick_width(self) -> int:
        """An extent of parameters; mostly one that can be split."""
        if self.roll(0.2):
            return self.random.choice([1, 3, 5, 6, 7, 12])
        return self.random.choice(self.layout.scopes)[1] * self.random.choice([1, 2, 3, 4])

    def _add_perceptron(self, base: Value) -> Value | None:
        """The features times a parameter, and something of each element."""
        return self._add_limited(self._add_features(base, self._pick_width()))

    def _add_heads(self, base: Value) -> Value | None:
        """Attention, as it is without a softmax: each head compares all rows and adds up what it finds.

        The devices need not divide the number of heads: what is split then is not them.
        """
        heads, size = self.random.choice([1, 2, 3, 4, 6, 8]), self.random.choice([1, 2, 4])
        flat = self._add_limited(self._add_features(base, heads * size))
        value = flat and self._add_regrouped(flat, (heads, size))
        if value is None:
            return None
        rows = "rs"[: len(base.type.shape) - 2]
        scores = self._add_limited(self._add_product(f"{rows}the,{rows}uhe->{rows}htu", value, value))
        read = scores and self._add_product(f"{rows}htu,{rows}uhe->{rows}the", scores, value)
        return read and self._add_regrouped(read, (heads * size,))

    def _add_parts(self, base: Value) -> Value | None:
        """A product that is cut into parts, mostly of one extent: they are multiplied, or joined again."""
        count, width = self.random.choice([2, 2, 3, 4]), self._pick_width()
        sizes = (
            [width] * count if self.roll(0.8) else [width, *(self._pick_width() for _ in range(count - 1))]
        )
        flat = self._add_limited(self._add_features(base, sum(sizes)))
        if flat is None:
            return None
        cuts = [self._add_cut(flat, sum(sizes[:i]), size) for i, size in enumerate(sizes)]
        made = [value for cut in cuts if (value := self._add_limited(cut))]
        if len(made) < count:
            return None
        if sizes[0] == sizes[1] and self.roll(0.5):
            loops = tuple(range(len(base.type.shape)))
            gated = [Output(loops, ("mul", ("in", 0), ("in", 1)))]
            return self._put(self._finish(made[:2], made[0].type.shape, [along(*loops)] * 2, gated))
        whole = self._new(flat.type.shape, flat.type.element, max(value.bound for value in made))
        return self._put(Concatenate((whole,), tuple(made), len(base.type.shape) - 1, "epl.concatenate"))

    def _add_cut(self, value: Value, offset: int, size: int) -> Value | None:
        """Some of the last dimension; nothing of tensors without elements, of which there are no slices."""
        if 0 in value.type.shape:
            return None
        rows = value.type.shape[:-1]
        place = Place((*(0 for _ in rows), offset), (*rows, size), tuple(1 for _ in value.type.shape))
        return self._put(
            ExtractSlice((self._new((*rows, size), value.type.element, value.bound),), (value,), place)
        )

    def _add_way_back(self, value: Value, base: Value) -> None:
        """A product back to the width of `base`, and what looks like a gradient."""
        rows = "rst"[: len(base.type.shape) - 1]
        self._add_features(value, base.type.shape[-1])
        self._add_product(f"{rows}a,{rows}b->ab", base, value)

    def _add_features(self, value: Value, width: int) -> Value | None:
        """The last dimension contracted with a parameter's."""
        rows = "rst"[: len(value.type.shape) - 1]
        weights = self._pick_weights(Type((value.type.shape[-1], width), value.type.element))
        return weights and self._add_product(f"{rows}a,ab->{rows}b", value, weights)

    def _add_product(self, spec: str, a: Value, b: Value) -> Value | None:
        return self._put(self._multiply(spec, a, b))

    def _add_regrouped(self, value: Value, last: tuple[int, ...]) -> Value | None:
        """The last dimension as two, or the last two as one."""
        kept = len(value.type.shape) - 3 + len(last)
        groups = (*((dim,) for dim in range(kept)), (kept, kept + 1))
        shape = (*value.type.shape[:kept], *last)
        return self._put(Reshape((self._new(shape, value.type.element, value.bound),), (value,), groups))

    def _add_limited(self, value: Value | None) -> Value | None:
        """Each element within [-1, 1], so that products of products stay exact."""
        if value is None:
            return None
        loops = tuple(range(len(value.type.shape)))
        body = self._tame(("in", 0), value.type.element)
        return self._put(self._finish([value], value.type.shape, [along(*loops)], [Output(loops, body)]))

    def _put(self, op: Op | None) -> Value | None:
        """The result of an op, if the program takes it."""
        self._add(op)
        return op.result if op and op.result in self.values else None
