"""Results of a step as those of its micro-batches.

Problem: a result is to be what the step returns for each of m micro-batches alone, without doing the step's
work a second time. A sum does not tell whether it is one or a mean over the samples: the step may have their
number in any constant.
Method: the step is traced for the batch, and for a micro-batch. What the second trace makes of samples one by
one is matched with the first, of whose values it has parts (`sample_match.py`). What finds no match, behind a
sum over samples or a constant that is another one, is done under `jax.vmap` over m parts: as soon as its
operands are there, with its lines and scopes. Random bits are those that the samples have in the batch.
Whoever shards the program finds values with a dimension of m that are made of samples, so each is made where
its micro-batch is.
Invariant out: a step of the same arguments, of which some results are of each micro-batch, or these combined;
all others are as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from epl.adapters.jax import hooks, jaxprs
from epl.adapters.jax.sample_match import Match, Part

Combine = Callable[[Any], Any]
"""Makes a result of the values of all micro-batches, which stand along dimension 0."""


def rewritten(
    whole: Any, micro: Any, count: int, combine: Sequence[Combine | None]
) -> Callable[..., list[Any]]:
    """What a closed jaxpr does, with some results as those of micro-batches.

    Args:
      whole: the step, traced for the batch.
      micro: the step, traced for one of `count` micro-batches.
      combine: of each result, what to make of its values for all micro-batches; None: it stays.
    """
    # What the step prints and checks is the batch's.
    whole, micro = jaxprs.inlined(whole), jaxprs.silent(jaxprs.inlined(micro))
    pairs = zip(whole.in_avals, micro.in_avals, strict=True)
    matched = Match(whole, micro, [_sample_dim(a.shape, b.shape) for a, b in pairs], count)
    parts = {variable: _chosen(found) for variable, found in matched.parts.items()}
    own = _own_equations(whole, micro, parts, [each is not None for each in combine])
    return lambda *leaves: _Step(whole, micro, count, parts).run(leaves, own, combine)


def _chosen(found: Sequence[Part]) -> Part:
    """All of a value rather than a part of one."""
    return min(found, key=lambda part: part.dim is not None)


def _sample_dim(whole: Sequence[int], micro: Sequence[int]) -> int | None:
    sizes = enumerate(zip(whole, micro, strict=True))
    return next((dim for dim, (size, own) in sizes if size != own), None)


def _own_equations(
    whole: Any, micro: Any, parts: dict[Any, Part], wanted: Sequence[bool]
) -> dict[int, list[Any]]:
    """The equations that wanted results of a micro-batch are made by, beside what is matched.

    By the last equation of the batch that one has operands of; -1: of none.
    """
    positions: dict[Any, int] = {}
    for index, equation in enumerate(whole.jaxpr.eqns):
        positions |= dict.fromkeys(equation.outvars, index)
    found: dict[int, list[Any]] = {}
    own: dict[Any, int] = {}
    for equation in _needed(micro.jaxpr, parts, wanted):
        operands = [value for value in equation.invars if not isinstance(value, Literal)]
        position = -1
        for value in operands:
            made = own[value] if value in own else positions.get(parts[value].value, -1)
            position = max(position, made)
        own |= dict.fromkeys(equation.outvars, position)
        found.setdefault(position, []).append(equation)
    return found


def _needed(jaxpr: Any, parts: dict[Any, Part], wanted: Sequence[bool]) -> list[Any]:
    """The equations that wanted results are made by, from parts on."""
    outs = zip(jaxpr.outvars, wanted, strict=True)
    needed = {out for out, is_wanted in outs if is_wanted and not isinstance(out, Literal)}
    found = []
    for equation in reversed(jaxpr.eqns):
        if any(out in needed and out not in parts for out in equation.outvars):
            needed.update(value for value in equation.invars if not isinstance(value, Literal))
            found.append(equation)
    return found[::-1]


class _Step:
    """Does what a step does, and what it does for each micro-batch."""

    def __init__(self, whole: Any, micro: Any, count: int, parts: dict[Any, Part]) -> None:
        self._whole, self._micro, self._count, self._parts = whole, micro, count, parts
        self._values = dict(zip(whole.jaxpr.constvars, whole.consts, strict=True))
        self._constants = dict(zip(micro.jaxpr.constvars, micro.consts, strict=True))
        # What each micro-batch has, with the dimension of m, or None where all have the same.
        self._of_each: dict[Any, tuple[Any, int | None]] = {}

    def run(
        self, leaves: Sequence[Any], own: dict[int, list[Any]], combine: Sequence[Combine | None]
    ) -> list[Any]:
        """The results."""
        self._values |= dict(zip(self._whole.jaxpr.invars, leaves, strict=True))
        self._do_own(own.get(-1, []))
        for index, equation in enumerate(self._whole.jaxpr.eqns):
            with hooks.standing_at(equation):
                results = hooks.bind(equation, [self._read(value) for value in equation.invars])
            self._values |= dict(zip(equation.outvars, results, strict=True))
            self._do_own(own.get(index, []))
        return [
            self._read(out) if made is None else self._combined(out, each, made)
            for out, each, made in zip(
                self._whole.jaxpr.outvars, self._micro.jaxpr.outvars, combine, strict=True
            )
        ]

    def _read(self, value: Any) -> Any:
        return value.val if isinstance(value, Literal) else self._values[value]

    def _do_own(self, equations: Sequence[Any]) -> None:
        for equation in equations:
            with hooks.standing_at(equation):
                each = [self._read_each(value) for value in equation.invars]
                values, dims = [value for value, _ in each], tuple(dim for _, dim in each)
                if all(dim is None for dim in dims):
                    results, dim = hooks.bind(equation, values), None
                else:
                    done = jax.vmap(lambda *values, do=equation: hooks.bind(do, values), in_axes=dims)
                    results, dim = done(*values), 0
            self._of_each |= {out: (made, dim) for out, made in zip(equation.outvars, results, strict=True)}

    def _read_each(self, value: Any) -> tuple[Any, int | None]:
        """What each micro-batch has of a variable of its trace."""
        if isinstance(value, Literal):
            return value.val, None
        if value in self._constants:
            return self._constants[value], None
        if value not in self._of_each:
            self._of_each[value] = self._split(self._parts[value])
        return self._of_each[value]

    def _split(self, part: Part) -> tuple[Any, int | None]:
        whole = self._values[part.value]
        if part.dim is None:
            return whole, None
        before, behind = whole.shape[: part.dim], whole.shape[part.dim + 1 :]
        sizes = self._count, whole.shape[part.dim] // self._count
        return jnp.moveaxis(jnp.reshape(whole, (*before, *sizes, *behind)), part.dim, 0), 0

    def _combined(self, out: Any, each: Any, combine: Combine) -> Any:
        """A result of micro-batches; it is made where that of the batch is."""
        equations = self._whole.jaxpr.eqns
        maker = next((made for made in equations if any(out is each for each in made.outvars)), None)

        def finish() -> Any:
            value, dim = self._read_each(each)
            return combine(value if dim == 0 else jnp.broadcast_to(value, (self._count, *jnp.shape(value))))

        if maker is None:
            return finish()
        with hooks.standing_at(maker):
            return finish()
