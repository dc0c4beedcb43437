"""Functions of padded batches, whose results are those of the real rows.

Problem: a batch is padded to the shape of another one, and how many of its rows are real is known when the
step runs. A function that works on rows one by one is right as it stands; what goes over rows, such as a sum
or a product that contracts them, has to leave the padding out.
Method: the function is traced, and its equations are done one after the other, with what is known of their
operands: along which dimension they have rows. An equation that reduces or contracts that dimension gets the
neutral element where rows are padding. Calls are inlined.
Invariant in: the function divides by the number of real rows where it means over them: no equation tells a
mean from a sum.
Invariant out: values at padding may be anything; nothing else depends on them. What is neither done row by
row nor has a neutral element is a `MixedError`.

    a value of [4, 6] with outer 2, inner 1 along dimension 1, of a batch of 3 rows:

      dimension 1:   row 0   row 1   row 2   row 0   row 1   row 2
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal

from epl.adapters.jax import hooks, jaxprs, padded_rules
from epl.adapters.jax.sample_rules import MixedError, require


@dataclass(frozen=True)
class Batch:
    """A batch: how many rows it is padded to, and how many are real, an integer that may be traced."""

    extent: int
    count: Any


@dataclass(frozen=True)
class Rows:
    """Where a value has the rows of a batch: in dimension `dim`, of outer * rows * inner elements."""

    batch: int
    dim: int
    outer: int = 1
    inner: int = 1


class Padded:
    """Evaluates functions of values that have rows.

    Args:
      batches: by the number that `Rows.batch` says.
    """

    def __init__(self, batches: Mapping[int, Batch]) -> None:
        self._batches = batches

    def evaluate(
        self, function: Callable[..., Any], values: Sequence[Any], rows: Sequence[Rows | None]
    ) -> tuple[Any, Any]:
        """What a function makes of values, a tree, and a tree of the rows of its leaves.

        Raises:
          MixedError: for a function that mixes rows otherwise than by sums, products and extremes.
        """
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*values)
        made, found = self._run(closed, values, rows)
        structure = jax.tree.structure(shape)
        return jax.tree.unflatten(structure, made), jax.tree.unflatten(structure, found)

    def real(self, rows: Rows) -> Any:
        """How many real elements there are along the dimension that has rows."""
        return rows.outer * self._batches[rows.batch].count * rows.inner

    def _run(
        self, closed: Any, values: Sequence[Any], rows: Sequence[Rows | None]
    ) -> tuple[list[Any], list[Rows | None]]:
        known = dict(zip(closed.jaxpr.invars, zip(values, rows, strict=True), strict=True))
        known |= {
            variable: (value, None)
            for variable, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
        }

        def read(value: Any) -> tuple[Any, Rows | None]:
            return (value.val, None) if isinstance(value, Literal) else known[value]

        for equation in closed.jaxpr.eqns:
            operands = [read(value) for value in equation.invars]
            given, own = [value for value, _ in operands], [where for _, where in operands]
            made: list[Any]
            found: list[Rows | None]
            if _takes_rows(equation, own):
                own[0] = None
            if all(where is None for where in own):
                made, found = hooks.bind(equation, given), [None] * len(equation.outvars)
            elif (inner := jaxprs.called(equation)) is not None:
                made, found = self._run(inner, given, own)
            else:
                made, found = self._equation(equation, given, own)
            known |= dict(zip(equation.outvars, zip(made, found, strict=True), strict=True))
        results = [read(value) for value in closed.jaxpr.outvars]
        return [value for value, _ in results], [where for _, where in results]

    def _equation(
        self, equation: Any, values: Sequence[Any], rows: Sequence[Rows | None]
    ) -> tuple[list[Any], list[Rows | None]]:
        """An equation of which an operand has rows."""
        one, name = _one(rows), equation.primitive.name
        dims = [None if where is None else where.dim for where in rows]
        found: list[Rows | None] = [None] * len(equation.outvars)
        if name == "reshape":
            found = [self._reshaped(equation, one)]
        elif (neutral := padded_rules.neutral(equation, dims)) is not None:
            values = [
                value if where is None else self._filled(value, where, neutral)
                for value, where in zip(values, rows, strict=True)
            ]
            found = [one if name in padded_rules.RUNNING else None]
        else:
            found = [
                None if dim is None else replace(one, dim=dim)
                for dim in padded_rules.result_dims(equation, dims)
            ]
        return hooks.bind(equation, values), found

    def _reshaped(self, equation: Any, rows: Rows) -> Rows:
        """Where the rows are in another shape: they stay whole, in some dimension."""
        require(equation.params["dimensions"] is None)
        extent = self._batches[rows.batch].extent
        old, new = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
        before = math.prod(old[: rows.dim]) * rows.outer
        behind = math.prod(old[rows.dim + 1 :]) * rows.inner
        for dim in range(len(new)):
            outside, inside = math.prod(new[:dim]), math.prod(new[dim + 1 :])
            if before % outside == 0 and behind % inside == 0:
                found = Rows(rows.batch, dim, before // outside, behind // inside)
                if found.outer * extent * found.inner == new[dim]:
                    return found
        raise MixedError

    def _filled(self, value: Any, rows: Rows, neutral: Callable[[Any], Any]) -> Any:
        """A value with the neutral element where rows are padding."""
        batch = self._batches[rows.batch]
        index = lax.broadcasted_iota(jnp.int32, value.shape, rows.dim)
        is_real = (index // rows.inner) % batch.extent < batch.count
        return jnp.where(is_real, value, jnp.asarray(neutral(value.dtype), value.dtype))


def _takes_rows(equation: Any, rows: Sequence[Rows | None]) -> bool:
    """Whether rows are taken by number: those that have numbers are real."""
    if equation.primitive.name != "gather" or rows[0] is None:
        return False
    return rows[0].dim in equation.params["dimension_numbers"].start_index_map


def _one(rows: Sequence[Rows | None]) -> Rows:
    """The rows of all operands that have some; dimensions may differ."""
    found = [where for where in rows if where is not None]
    require(len({replace(where, dim=0) for where in found}) == 1)
    return found[0]
