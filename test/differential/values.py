"""The values of a random program so far: new ones, and picks among them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

from layout import SPLIT_EXTENTS, Layout
from ops import Op
from program import Argument
from tensors import Type, Value, is_float

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 17]
LONG_EXTENTS = [*EXTENTS, 16, 33, 64]
MAX_ELEMENTS = 4096
MAX_RANK = 4
INPUT_BOUND = 3

ELEMENTS = {"f32": 10, "f64": 3, "bf16": 3, "f16": 2, "i32": 5, "i64": 2, "i16": 1, "i8": 2}


class Values:
    """Arguments and ops so far, of a few element types; all choices come from the seed."""

    def __init__(self, seed: int, layout: Layout, floats: str = "", micro_batches: int = 1) -> None:
        self.seed = seed
        self.layout = layout
        self.floats = floats
        self.random = random.Random(seed)
        self.elements = self.random.choices(
            list(ELEMENTS), list(ELEMENTS.values()), k=self.random.randint(1, 3)
        )
        if floats and not any(map(is_float, self.elements)):
            self.elements.append("f32")
        self.extents = self.random.choice([EXTENTS, EXTENTS, LONG_EXTENTS])
        if layout.mesh or layout.outside or layout.apart or layout.strategy == "split":
            self.extents = SPLIT_EXTENTS
        if self.roll(0.03):
            self.extents = [*EXTENTS, 0]
        parts = layout.axes.get("data", 1)
        several = layout.apart or layout.outside is not None
        self.batch = (
            layout.batch_parts if several else self.random.choice([parts, layout.devices])
        ) * self.random.choice([1, 2, 3, 4])
        if self.roll(0.02) and not several:
            self.batch += 1
        self.batch *= micro_batches
        self.micro_batches = micro_batches
        self.arguments: list[Argument] = []
        self.ops: list[Op] = []
        self.values: list[Value] = []
        self.ids = itertools.count()

    def roll(self, probability: float) -> bool:
        return self.random.random() < probability

    def _new(self, shape: tuple[int, ...], element: str, bound: int) -> Value:
        return Value(next(self.ids), Type(shape, element), bound)

    def _add(self, op: Op | None) -> None:
        if op is None or any(math.prod(value.type.shape) > MAX_ELEMENTS for value in op.results):
            return
        self.ops.append(op)
        self.values += op.results

    def _pick_element(self) -> str:
        return self.random.choice(self.elements)

    def _pick(self, accept: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value, rather a late one, and rather one with a dimension of the batch's extent."""
        values = [value for value in self.values if accept(value)]
        if not values:
            return None
        if self.roll(0.5):
            values = [value for value in values if self.batch in value.type.shape] or values
        return values[max(self.random.randrange(len(values)), self.random.randrange(len(values)))]

    def _pick_number(self, min_rank: int = 0) -> Value | None:
        return self._pick(lambda value: value.type.element != "i1" and len(value.type.shape) >= min_rank)
