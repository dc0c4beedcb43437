"""Triangular systems whose diagonal counts as ones: what solves them is made of sums of products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from contractions import Contractions
from ops import Arrays, Names, Op
from range_functions import reduce_range
from ranges import NEVER, make_anything, multiply, round_to, subtract
from tensors import LIMITS, Type
from values import INPUT_BOUND


@dataclass(frozen=True)
class Solve(Op):
    """epl.triangular_solve of a matrix and a right-hand side."""

    left: bool
    lower: bool
    transpose: bool

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        a, b = (arrays[operand.id] for operand in self.operands)
        a = np.tril(a, -1) if self.lower else np.triu(a, 1)
        if self.transpose != (not self.left):  # x a = b is the system of both transposed
            a = a.swapaxes(-1, -2)
        x = (b if self.left else b.swapaxes(-1, -2)).copy()
        forward = self.lower != (self.transpose != (not self.left))
        for row in range(x.shape[-2]) if forward else reversed(range(x.shape[-2])):
            x[..., row, :] -= np.einsum("...i,...ij->...j", a[..., row, :], x)
        return [x if self.left else x.swapaxes(-1, -2)]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        """By substitution, each sum in any order; of what is not finite, which libraries may skip beside
        zeros, anything."""
        a, b = (arrays[operand.id] for operand in self.operands)
        element = self.result.type.element
        if not all(
            np.isfinite(x[end]).all() and (x["nan"] == NEVER).all() for x in (a, b) for end in ("low", "high")
        ):
            return [make_anything(self.result.type.shape, element)]
        order = a.shape[-1]
        if self.transpose != (not self.left):
            a = a.swapaxes(-1, -2)
        x = (b if self.left else b.swapaxes(-1, -2)).copy()
        forward = self.lower != (self.transpose != (not self.left))
        for row in range(order) if forward else reversed(range(order)):
            before = slice(0, row) if forward else slice(row + 1, order)
            products = multiply(a[..., row, before, None], x[..., before, :])
            total = reduce_range("sum", round_to(products, element), (products.ndim - 2,), element)
            x[..., row, :] = round_to(subtract(x[..., row, :], total), element)
        x["sum"] = False
        return [x if self.left else x.swapaxes(-1, -2)]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        a, b = self.operands
        flags = {"left": self.left, "lower": self.lower, "transpose": self.transpose}
        said = " ".join(word for word, holds in flags.items() if holds)
        return [
            f"{names[self.result.id]} = epl.triangular_solve {names[a.id]}, {names[b.id]} {said}"
            f" unit_diagonal : {a.type}, {b.type}"
        ]


class Systems(Contractions):
    """Makers of systems."""

    def _make_solve(self) -> Op | None:
        """A system of a value and a matrix that is mostly a new argument."""
        b = self._pick(lambda value: value.type.element in ("f32", "f64") and len(value.type.shape) > 1)
        if b is None:
            return None
        left = self.roll(0.5)
        order = b.type.shape[-2 if left else -1]
        a = self._pick_weights(Type((*b.type.shape[:-2], order, order), b.type.element))
        if a is None or order == 0 or order > 40:
            return None
        bound = b.bound * (1 + max(a.bound, INPUT_BOUND)) ** (order - 1)
        if bound > LIMITS[b.type.element]:
            return None
        x = self._new(b.type.shape, b.type.element, bound)
        return Solve((x,), (a, b), left, self.roll(0.5), self.roll(0.5))
