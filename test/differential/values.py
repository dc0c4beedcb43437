"""The values of a random program so far: new ones, and picks among them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import expression as ex
from ops import Op, Type, Value
from program import Argument

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 17]
MAX_ELEMENTS = 4096
MAX_RANK = 4


class Values:
    """Arguments and ops so far, of one element type; all choices come from the seed."""

    def __init__(self, seed: int, devices: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.element = self.random.choices(["f32", "f64", "i32", "i64"], [6, 1, 2, 1])[0]
        self.limit = ex.LIMITS[self.element]
        self.batch = devices * self.random.choice([1, 2, 3, 4])
        self.arguments: list[Argument] = []
        self.ops: list[Op] = []
        self.values: list[Value] = []

    def _new(self, shape: tuple[int, ...], element: str, bound: int) -> Value:
        return Value(len(self.arguments) + len(self.ops), Type(shape, element), bound)

    def _add(self, op: Op | None) -> None:
        if op is not None and math.prod(op.result.type.shape) <= MAX_ELEMENTS:
            self.ops.append(op)
            self.values.append(op.result)

    def _pick(self, accept: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value, rather a late one, and rather one with a dimension of the batch's extent."""
        values = [value for value in self.values if accept(value)]
        if not values:
            return None
        if self.random.random() < 0.5:
            values = [value for value in values if self.batch in value.type.shape] or values
        return values[max(self.random.randrange(len(values)), self.random.randrange(len(values)))]

    def _pick_number(self, min_rank: int = 0) -> Value | None:
        return self._pick(lambda value: value.type.element != "i1" and len(value.type.shape) >= min_rank)
