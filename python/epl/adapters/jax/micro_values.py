"""Results of a step as those of its micro-batches.

Problem: a result is to be what the step returns for each of m micro-batches alone, without doing the step's
work a second time. A sum does not tell whether it is one or a mean over the samples: the step may have their
number in any constant.
Method: the step is traced for the batch, and for a micro-batch. Both traces are walked along: what is made of
samples one by one stands in the first, as parts (`sample_rules.py`). From where samples meet, or where the
traces differ in a constant, the second one says what to do; that is done under `jax.vmap` over m parts, and
stands beside what is done for the batch, with its lines and scopes. Random bits are those that the samples
have in the batch. Whoever shards the program finds values with a dimension of m that are made of samples, so
each is made where its micro-batch is.
Invariant out: a trace of the same step, whose results in a `LOCAL_` collection are of each micro-batch, or
these combined; all others are as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from epl.adapters.jax import hooks
from epl.adapters.jax.sample_rules import MixedError, result_dims, same_array, same_equations

Combine = Callable[[Any], Any]
"""Makes a result of the values of all micro-batches, which stand along dimension 0."""


class DifferentError(Exception):
    """The step does something else for a micro-batch than for the batch."""


@dataclass(frozen=True)
class _Value:
    """A value of the step, and of each micro-batch.

    whole: that of the step. dim: along which it has the values of the micro-batches; None: all have it.
    own: what a micro-batch has instead, with the dimension of m, or None where all have the same.
    """

    whole: Any
    dim: int | None = None
    own: tuple[Any, int | None] | None = None

    def of_each(self, count: int) -> tuple[Any, int | None]:
        """The values of the micro-batches along the dimension, or one for all."""
        if self.own is not None or self.dim is None:
            return self.own or (self.whole, None)
        shape = self.whole.shape
        parts = (count, shape[self.dim] // count)
        split = jnp.reshape(self.whole, (*shape[: self.dim], *parts, *shape[self.dim + 1 :]))
        return jnp.moveaxis(split, self.dim, 0), 0


def rewritten(
    whole: Any, micro: Any, count: int, combine: Sequence[Combine | None]
) -> Callable[..., list[Any]]:
    """What a closed jaxpr does, with some results as those of micro-batches.

    Args:
      whole: the step, traced for the batch.
      micro: the step, traced for one of `count` micro-batches.
      combine: of each result, what to make of its values for all micro-batches; None: it stays.

    Raises:
      DifferentError: by what is returned, if the two do not the same.
    """

    def function(*leaves: Any) -> list[Any]:
        if not same_equations(whole.jaxpr, micro.jaxpr):
            raise DifferentError
        shapes = [variable.aval.shape for variable in micro.jaxpr.invars]
        arguments = [_argument(*pair) for pair in zip(leaves, shapes, strict=True)]
        values = _Step(count).run(whole, micro, arguments, [each is not None for each in combine])
        return [
            value.whole if made is None else _finished(value, count, made, whole.jaxpr, index)
            for index, (value, made) in enumerate(zip(values, combine, strict=True))
        ]

    return function


def _argument(leaf: Any, micro: Sequence[int]) -> _Value:
    differing = [dim for dim, sizes in enumerate(zip(leaf.shape, micro, strict=True)) if sizes[0] != sizes[1]]
    return _Value(leaf, differing[0] if differing else None)


def _finished(value: _Value, count: int, combine: Combine, jaxpr: Any, index: int) -> Any:
    """What is made of a result stands where the result is made."""
    out = jaxpr.outvars[index]
    maker = next((equation for equation in jaxpr.eqns if any(out is made for made in equation.outvars)), None)

    def finish() -> Any:
        each, dim = value.of_each(count)
        return combine(each if dim == 0 else jnp.broadcast_to(each, (count, *each.shape)))

    if maker is None:
        return finish()
    with hooks.standing_at(maker):
        return finish()


class _Step:
    """Does what a step's jaxpr does, once more."""

    def __init__(self, count: int) -> None:
        self._count = count

    def run(
        self, whole: Any, micro: Any, arguments: Sequence[_Value], wanted: Sequence[bool]
    ) -> list[_Value]:
        """The results of a closed jaxpr; what each micro-batch has of those that are wanted only."""
        known: dict[Any, _Value] = dict(zip(whole.jaxpr.invars, arguments, strict=True))
        for variable, a, b in zip(whole.jaxpr.constvars, whole.consts, micro.consts, strict=True):
            known[variable] = _constant(a, b)

        def read(value: Any, other: Any) -> _Value:
            return _constant(value.val, other.val) if isinstance(value, Literal) else known[value]

        needed = _needed(whole.jaxpr, wanted)
        for a, b in zip(whole.jaxpr.eqns, micro.jaxpr.eqns, strict=True):
            operands = [read(*pair) for pair in zip(a.invars, b.invars, strict=True)]
            with hooks.standing_at(a):
                results = self._results(a, b, operands, [out in needed for out in a.outvars])
            known.update(zip(a.outvars, results, strict=True))
        return [read(*pair) for pair in zip(whole.jaxpr.outvars, micro.jaxpr.outvars, strict=True)]

    def _results(
        self, whole: Any, micro: Any, operands: Sequence[_Value], wanted: Sequence[bool]
    ) -> list[_Value]:
        if not any(wanted):
            return [_Value(made) for made in hooks.bind(whole, [value.whole for value in operands])]
        dims = _dims(whole, micro, operands)
        if dims is None and (called := hooks.called(whole)) is not None:
            inner = hooks.called(micro)
            if not same_equations(called.jaxpr, inner.jaxpr):
                raise DifferentError
            return self.run(called, inner, operands, wanted)
        made = hooks.bind(whole, [value.whole for value in operands])
        if dims is not None:
            return [_Value(value, dim) for value, dim in zip(made, dims, strict=True)]
        return [_Value(a, own=b) for a, b in zip(made, self._own(micro, operands), strict=True)]

    def _own(self, equation: Any, operands: Sequence[_Value]) -> list[tuple[Any, int | None]]:
        """The results of an equation for each micro-batch."""
        each = [value.of_each(self._count) for value in operands]
        values, dims = [value for value, _ in each], [dim for _, dim in each]
        if all(dim is None for dim in dims):
            return [(made, None) for made in hooks.bind(equation, values)]
        done = jax.vmap(lambda *values: hooks.bind(equation, values), in_axes=tuple(dims))
        return [(made, 0) for made in done(*values)]


def _constant(whole: Any, micro: Any) -> _Value:
    return _Value(whole, own=None if same_array(whole, micro) else (micro, None))


def _dims(whole: Any, micro: Any, operands: Sequence[_Value]) -> list[int | None] | None:
    """Along which results have those of the micro-batches; None if these have others."""
    if any(value.own is not None for value in operands):
        return None
    try:
        return result_dims(whole, micro, [value.dim for value in operands])
    except MixedError:
        return None


def _needed(jaxpr: Any, wanted: Sequence[bool]) -> set[Any]:
    """The variables that wanted results are made of."""
    pairs = zip(jaxpr.outvars, wanted, strict=True)
    needed = {out for out, is_wanted in pairs if is_wanted and not isinstance(out, Literal)}
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            needed.update(value for value in equation.invars if not isinstance(value, Literal))
    return needed
