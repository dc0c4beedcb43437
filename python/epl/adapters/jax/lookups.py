"""Lookups of rows of tables (`epl.Table`) in the trace of a step, and what their ids are made of.

Problem: the rows that a step looks up are pulled before it runs, so their ids must be known then, though the
step may compute them. Method: in a first trace a primitive stands for each lookup. The jaxpr is read with
calls looked through, and equal values are one object (value numbering): so it is seen what a lookup's ids
are made of, and whether a lookup that occurs twice, as `jax.checkpoint` makes it, has the same ids. Mapped
by `jax.vmap` a lookup is one of the ids of all elements, whose dimension is in front. `evaluate` computes ids
again, and nothing else, from the arguments of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, Primitive
from jax.interpreters import ad

from epl.adapters.jax import hooks, jaxprs
from epl.errors import Place, UnsupportedError

_primitive = Primitive("epl_lookup")


def mark(ids: Any, table: str, number: int, dim: int, dtype: Any) -> Any:
    """What stands for the rows of a lookup, number `number` of its table, in the first trace of a step."""
    return _primitive.bind(ids, table=table, number=number, dim=dim, dtype=np.dtype(dtype), axes=())


def _jvp(primals: Any, _: Any, **params: Any) -> Any:
    rows = _primitive.bind(*primals, **params)
    return rows, jnp.zeros_like(rows)


def _map(axis: str | None, operands: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
    [ids], [dim] = operands, dims
    if dim is None:
        return _primitive.bind(ids, **params), None
    params["axes"] = (axis, *params["axes"])
    return _primitive.bind(jnp.moveaxis(ids, dim, 0) if dim else ids, **params), 0


_primitive.def_abstract_eval(lambda ids, dim, dtype, **_: hooks.shaped_array((*ids.shape, dim), dtype))
ad.primitive_jvps[_primitive] = _jvp
hooks.map_by(_primitive, _map)


@dataclass(frozen=True, eq=False)
class Call:
    """An equation with its operands."""

    equation: Any
    operands: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Value:
    """A value of a step: argument number `argument`, or result `index` of `call`, or else `constant`."""

    argument: int | None = None
    call: Call | None = None
    index: int = 0
    constant: Any = None


@dataclass(frozen=True)
class Lookup:
    """Lookup `number` of a table in a step.

    shape: of the ids. axes: of these the first dimensions are those over which `jax.vmap` maps, by the names
    that its axes have, if any. place: the user's line.
    """

    table: str
    number: int
    ids: Value
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    place: Place | None


def find(jaxpr: Any) -> list[Lookup]:
    """The lookups in the closed jaxpr of a step, in the order in which they first occur.

    Raises:
      UnsupportedError: for one in a loop or a branch, one whose ids are made of rows, and one that occurs
        with different ids, since JAX has traced it once for several calls.
    """
    reader = _Reader()
    reader.read(jaxpr, [Value(argument=number) for number in range(len(jaxpr.in_avals))])
    return list(reader.found.values())


def check_none(jaxpr: Any) -> None:
    """Raises UnsupportedError if a lookup is in the closed jaxpr of a step whose lookups have their rows.

    Then it was in no jaxpr when they were found: a table has no rows there, so that JAX does not call rules
    of derivatives with respect to it.
    """
    for primitive, _, place in hooks.equations(jaxpr.jaxpr):
        if primitive == _primitive.name:
            raise UnsupportedError(
                "a table is looked up where the step is differentiated and nowhere before, as in a rule of "
                "jax.custom_vjp: look up outside of it, and give it the rows",
                place,
            )


def arguments_of(value: Value) -> set[int]:
    """The arguments of the step that a value is made of."""
    return {each.argument for each in _sources([value]) if each.argument is not None}


# What moves elements and changes none: of which operands the result has elements; None: of all.
_MOVES: dict[str, int | None] = {
    **dict.fromkeys(("broadcast_in_dim", "copy", "dynamic_slice", "reshape", "rev"), 1),
    **dict.fromkeys(("slice", "squeeze", "transpose"), 1),
    "concatenate": None,
}


def is_moved(value: Value) -> bool:
    """Whether all elements of a value are elements of arguments of the step, as they were."""
    if value.call is None:
        return value.argument is not None
    name, operands = value.call.equation.primitive.name, value.call.operands
    if name not in _MOVES:
        return False
    moved, places = operands[: _MOVES[name]], operands[len(operands[: _MOVES[name]]) :]
    return all(map(is_moved, moved)) and not any(map(arguments_of, places))


def are_zeros(jaxpr: Any, count: int) -> list[bool]:
    """Of the last `count` results of the closed jaxpr of a step whether they are zeros for all arguments.

    So are derivatives of what does not depend on the argument that JAX differentiates by.
    """
    results = _Reader().read(jaxpr, [Value(argument=number) for number in range(len(jaxpr.in_avals))])
    return [_is_zeros(value) for value in results[len(results) - count :]]


def _is_zeros(value: Value) -> bool:
    if value.call is None:
        return value.argument is None and not np.any(value.constant)
    name, operands = value.call.equation.primitive.name, value.call.operands
    return name in _MOVES and all(map(_is_zeros, operands[: _MOVES[name]]))


def evaluate(wanted: Sequence[Value], argument: Callable[[int], Any]) -> list[Any]:
    """Values of a step; `argument` gives those of its arguments that they are made of."""
    known: dict[Value, Any] = {}
    calls: dict[Call, list[Any]] = {}
    for value in _sources(wanted):
        if value.argument is not None:
            known[value] = argument(value.argument)
        elif value.call is None:
            known[value] = value.constant
        else:
            if value.call not in calls:
                operands = [known[operand] for operand in value.call.operands]
                with hooks.standing_at(value.call.equation):
                    calls[value.call] = hooks.bind(value.call.equation, operands)
            known[value] = calls[value.call][value.index]
    return [known[value] for value in wanted]


def _sources(wanted: Iterable[Value]) -> list[Value]:
    """Values, and all that they are made of, before what is made of it."""
    ordered: dict[Value, None] = {}
    stack = [(value, False) for value in wanted]
    while stack:
        value, has_operands = stack.pop()
        if value in ordered:
            continue
        if has_operands or value.call is None:
            ordered[value] = None
        else:
            stack.append((value, True))
            stack += [(operand, False) for operand in value.call.operands]
    return list(ordered)


class _Reader:
    """Reads a jaxpr. `found`: its lookups by table and number."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], Lookup] = {}
        self._calls: dict[Any, Call] = {}
        self._values: dict[tuple[Call, int], Value] = {}
        self._constants: dict[Any, Value] = {}

    def read(self, closed: Any, operands: Sequence[Value]) -> list[Value]:
        """The results of a closed jaxpr."""
        known = dict(zip(closed.jaxpr.invars, operands, strict=True))
        constants = map(self._constant, closed.consts)
        known |= dict(zip(closed.jaxpr.constvars, constants, strict=True))

        def value_of(variable: Any) -> Value:
            return self._literal(variable) if isinstance(variable, Literal) else known[variable]

        for equation in closed.jaxpr.eqns:
            values = list(map(value_of, equation.invars))
            inner = jaxprs.called(equation)
            results = self._results(equation, values) if inner is None else self.read(inner, values)
            known.update(zip(equation.outvars, results, strict=True))
        return list(map(value_of, closed.jaxpr.outvars))

    def _constant(self, array: Any) -> Value:
        return self._constants.setdefault(id(array), Value(constant=array))

    def _literal(self, literal: Any) -> Value:
        array = np.asarray(literal.val, literal.aval.dtype)
        return self._constants.setdefault((array.dtype, array.tobytes()), Value(constant=array))

    def _results(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        self._check_inside(equation)
        params = frozenset(equation.params.items()) if _has_hash(equation.params) else id(equation)
        call = self._calls.setdefault(
            (equation.primitive, params, tuple(operands)), Call(equation, tuple(operands))
        )
        if equation.primitive is _primitive:
            self._note(equation, operands[0])
        count = len(equation.outvars)
        return [self._values.setdefault((call, i), Value(call=call, index=i)) for i in range(count)]

    def _note(self, equation: Any, ids: Value) -> None:
        params, place = equation.params, hooks.place(equation)
        table, number = params["table"], params["number"]
        if any(each.call and each.call.equation.primitive is _primitive for each in _sources([ids])):
            raise UnsupportedError(
                f'table "{table}" is looked up by ids that are made of rows of a table: rows are pulled '
                "before the step, so ids must be made of its batches",
                place,
            )
        shape = equation.invars[0].aval.shape
        found = Lookup(table, number, ids, shape, params["axes"], place)
        first = self.found.setdefault((table, number), found)
        if first.ids is not ids:
            raise UnsupportedError(
                f'table "{table}" is looked up in a function that JAX traces once for several calls, with '
                "other ids in each: call that function without jax.jit and jax.checkpoint, or look up before",
                place,
            )

    @staticmethod
    def _check_inside(equation: Any) -> None:
        """Raises UnsupportedError if an equation that is no call has a lookup in it."""
        for inner in hooks.inner_jaxprs(equation):
            for primitive, _, place in hooks.equations(inner, hooks.place(equation)):
                if primitive == _primitive.name:
                    raise UnsupportedError(
                        f"a table is looked up within {equation.primitive.name}: rows are pulled before the "
                        "step, so look up all ids before the loop or branch, and give it the rows",
                        place,
                    )


def _has_hash(params: Any) -> bool:
    try:
        hash(frozenset(params.items()))
    except TypeError:
        return False
    return True
