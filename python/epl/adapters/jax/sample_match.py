"""What a step makes for a micro-batch, found in what it makes for the batch.

Problem: a step was traced for the whole batch and for a micro-batch of it. Some values of the second trace
are parts of those of the first, in the order of the samples along one dimension; others are not, such as sums
over samples and sorted samples.
Method: equations are matched from the arguments on, by the rules of `sample_rules.py`. Where a constant is
another one, as the number of samples is, so are the values made of it, and nothing matches.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import Literal

from epl.adapters.jax import hooks, jaxprs
from epl.adapters.jax.sample_rules import Dims, MixedError, alike, require, result_dims

_MOST_CHOICES = 16  # of parts that the operands of an equation are


@dataclass(frozen=True)
class Part:
    """What a micro-batch has of a value of the batch: a part along `dim`, or all of it.

    value: a variable, or what identifies a constant.
    """

    value: Any
    dim: int | None


class Match:
    """What the variables of a closed jaxpr of a micro-batch have of the values in that of the batch.

    An equation is matched with those of the same primitive and operands, wherever they stand. Equal values of
    the batch are one. A variable may be a part of several: zeros are all of some and half of others.

    Args:
      dims: of the arguments, where they have samples.
      count: of micro-batches.

    Attributes:
      parts: by variable of the micro-batch, without those that nothing is found for.
    """

    def __init__(self, whole: Any, micro: Any, dims: Sequence[int | None], count: int) -> None:
        self._count = count
        self._values: dict[Any, Any] = _constants(whole)
        self._equations: dict[Any, list[Any]] = {}
        for equation in whole.jaxpr.eqns:
            self._add(equation)
        self.parts = {variable: [Part(value, None)] for variable, value in _constants(micro).items()}
        arguments = zip(micro.jaxpr.invars, map(Part, whole.jaxpr.invars, dims), strict=True)
        self.parts |= {variable: [part] for variable, part in arguments}
        for equation in micro.jaxpr.eqns:
            self._match(equation)

    def value(self, value: Any) -> Any:
        """What stands for a value of the batch."""
        return _identity(value.val) if isinstance(value, Literal) else self._values.get(value, value)

    def found(self, value: Any) -> list[Part]:
        """The parts that a value of the micro-batch is."""
        return [Part(_identity(value.val), None)] if isinstance(value, Literal) else self.parts.get(value, [])

    def _add(self, equation: Any) -> None:
        key = equation.primitive, tuple(map(self.value, equation.invars))
        known = self._equations.setdefault(key, [])
        first = next((each for each in known if _repeats(each, equation)), None)
        if first is None:
            known.append(equation)
        else:
            self._values |= dict(zip(equation.outvars, first.outvars, strict=True))

    def _match(self, equation: Any) -> None:
        choices = itertools.product(*map(self.found, equation.invars))
        for operands in itertools.islice(choices, _MOST_CHOICES):
            key = equation.primitive, tuple(part.value for part in operands)
            for candidate in self._equations.get(key, []):
                with contextlib.suppress(MixedError):
                    dims = _result_dims(candidate, equation, [part.dim for part in operands], self._count)
                    self._note(equation, map(Part, candidate.outvars, dims))

    def _note(self, equation: Any, parts: Iterable[Part]) -> None:
        for variable, part in zip(equation.outvars, parts, strict=True):
            known = self.parts.setdefault(variable, [])
            if part not in known:
                known.append(part)


def _repeats(first: Any, second: Any) -> bool:
    shapes = ([out.aval.shape for out in each.outvars] for each in (first, second))
    return next(shapes) == next(shapes) and alike(first, second)


def _constants(jaxpr: Any) -> dict[Any, Any]:
    return dict(zip(jaxpr.jaxpr.constvars, map(_identity, jaxpr.consts), strict=True))


def _identity(constant: Any) -> Any:
    array = hooks.numbers(constant)
    return str(array.dtype), array.shape, array.tobytes()


def _body_dims(whole: Any, micro: Any, dims: Sequence[int | None], count: int) -> Dims:
    """Of the results of a jaxpr that an equation holds."""
    for ends in ("invars", "outvars"):
        require(len(getattr(whole.jaxpr, ends)) == len(getattr(micro.jaxpr, ends)))
    matched = Match(whole, micro, dims, count)
    found: Dims = []
    for result, own in zip(whole.jaxpr.outvars, micro.jaxpr.outvars, strict=True):
        parts = [part for part in matched.found(own) if part.value == matched.value(result)]
        require(bool(parts))
        found.append(parts[0].dim)
    return found


def _result_dims(whole: Any, micro: Any, dims: Sequence[int | None], count: int) -> Dims:
    """Of the results of an equation; `MixedError` if those of a micro-batch are no parts."""
    require(_ranks(whole.outvars) == _ranks(micro.outvars))
    if (called := jaxprs.called(whole)) is not None:
        found = _body_dims(called, jaxprs.called(micro), dims, count)
    elif whole.primitive.name == "scan":
        found = _scan(whole, micro, list(dims), count)
    elif whole.primitive.name == "cond":
        found = _cond(whole, micro, list(dims), count)
    else:
        found = result_dims(whole, micro, dims)
    for a, b, dim in zip(whole.outvars, micro.outvars, found, strict=True):
        require(a.aval.dtype == b.aval.dtype and _is_part(a.aval.shape, b.aval.shape, dim, count))
    return found


def _ranks(values: Sequence[Any]) -> list[int]:
    return [len(value.aval.shape) for value in values]


def _is_part(whole: Sequence[int], micro: Sequence[int], dim: int | None, count: int) -> bool:
    """Whether shapes differ in nothing but the number of samples."""
    sizes = [size * count if index == dim else size for index, size in enumerate(micro)]
    return list(whole) == sizes


def _scan(whole: Any, micro: Any, dims: Dims, count: int) -> Dims:
    """Each iteration works on samples one by one, and the samples are not what it goes over."""
    a, b = whole.params, micro.params
    fixed = a["num_consts"] + a["num_carry"]
    require(all(a[name] == b[name] for name in ("num_consts", "num_carry", "length", "reverse")))
    require(0 not in dims[fixed:])
    inner = _body_dims(a["jaxpr"], b["jaxpr"], [*dims[:fixed], *map(_inner, dims[fixed:])], count)
    carried = inner[: a["num_carry"]]
    require(carried == dims[a["num_consts"] : fixed])
    return [*carried, *(None if dim is None else dim + 1 for dim in inner[a["num_carry"] :])]


def _inner(dim: int | None) -> int | None:
    return None if dim is None else dim - 1


def _cond(whole: Any, micro: Any, dims: Dims, count: int) -> Dims:
    branches = [each.params["branches"] for each in (whole, micro)]
    require(dims[0] is None and len(branches[0]) == len(branches[1]))
    first, *rest = (_body_dims(a, b, dims[1:], count) for a, b in zip(*branches, strict=True))
    require(all(other == first for other in rest))
    return first
