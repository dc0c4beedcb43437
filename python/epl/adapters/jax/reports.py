"""What a step reports (`epl/reports.py`), from the traced step to hidden results of the program.

Problem: a print stands anywhere: in loops, branches, functions called twice, under `grad` and `vmap`.
Method: JAX carries prints, and `epl.check`, which is a primitive of the same effect, through its
transformations. In EPL's lowering each becomes a custom call of the values, numbered as a site; flattening
(`flatten.py`) meets it wherever it ends up, in the order of the program, and knows the branches round it.
Values of a branch that was not taken are zeros by a selection, so that the branch stays one: what only a
print reads is not computed either.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import hooks
from epl.adapters.jax.constraints import PLATFORM
from epl.adapters.jax.simplify import constant
from epl.errors import Place, StepError
from epl.places import calling_place
from epl.reports import Check, Print, Report

REPORT = "epl.report"
_SITE = "epl.site"

Guards = Sequence[tuple[ir.Value, bool]]  # predicates of branches, with what they are where these are taken


@dataclass(frozen=True)
class Site:
    """A print or check as it was lowered, and what its values are."""

    what: Print | Check
    kinds: tuple[jax.ShapeDtypeStruct, ...]


@dataclass(frozen=True)
class Record:
    """A site where it ends up: the values to report; a loop has it stacked."""

    site: Site
    values: tuple[ir.Value, ...]
    place: Place | None
    flagged: bool
    loop: int | None = None
    trip_count: int = 1

    def stacked(self, loop: int, trip_count: int, stacks: Iterator[ir.Value]) -> Record:
        """The same behind a loop of which it is a part; takes as many of the stacks as it has values."""
        return replace(
            self, loop=loop, trip_count=trip_count, values=tuple(next(stacks) for _ in self.values)
        )

    @property
    def report(self) -> Report:
        """What its values mean to the front end."""
        kinds = self.site.kinds
        if self.flagged:
            kinds = (*kinds, jax.ShapeDtypeStruct((), bool))
        if self.loop is not None:
            kinds = tuple(jax.ShapeDtypeStruct((self.trip_count, *kind.shape), kind.dtype) for kind in kinds)
        return Report(self.site.what, self.place, kinds, self.loop, self.trip_count, self.flagged)


# Checks as a primitive.

_primitive = Primitive("epl_check")
_primitive.multiple_results = True


def bind(condition: Any, values: Sequence[Any], message: str, names: tuple[str, ...]) -> None:
    """Checks a scalar condition."""
    _primitive.bind(condition, *map(jnp.asarray, values), check=Check(message, names))


def _check_now(condition: Any, *values: Any, check: Check) -> list[Any]:
    problem = check.problem([~jnp.all(condition), *([condition] if check.dims else []), *values])
    if problem is not None:
        place = calling_place()
        raise StepError(f"{place}: {problem}" if place else problem, place)
    return []


def _batch(args: Sequence[Any], batched: Sequence[Any], *, check: Check) -> tuple[list[Any], list[Any]]:
    pairs = list(zip(args, batched, strict=True))
    size = next(arg.shape[dim] for arg, dim in pairs if dim is not None)
    moved = [
        jnp.broadcast_to(arg, (size, *arg.shape)) if dim is None else jnp.moveaxis(arg, dim, 0)
        for arg, dim in pairs
    ]
    _primitive.bind(*moved, check=replace(check, dims=check.dims + 1))
    return [], []


def _jvp(primals: Sequence[Any], _: Any, *, check: Check) -> tuple[list[Any], list[Any]]:
    return _primitive.bind(*primals, check=check), []


def _lower_check(context: Any, condition: Any, *values: Any, check: Check) -> list[Any]:
    if _state.sites is None:
        return []
    fails = mlir.lower_fun(lambda condition: ~jnp.all(condition), multiple_results=False)
    flag = jax.ShapeDtypeStruct((), bool)
    shape, *kinds = map(_kind, context.avals_in)
    [failed] = fails(context.replace(avals_in=context.avals_in[:1], avals_out=[jax.typeof(True)]), condition)
    operands, kinds = (failed, condition, *values), [flag, shape, *kinds]
    if not check.dims:
        operands, kinds = (failed, *values), [flag, *kinds[2:]]
    _call(operands, Site(check, tuple(kinds)))
    return []


_primitive.def_impl(_check_now)
_primitive.def_effectful_abstract_eval(lambda *_, **__: ([], {hooks.DEBUG_EFFECT}))
ad.primitive_jvps[_primitive] = _jvp
batching.primitive_batchers[_primitive] = _batch
mlir.register_lowering(_primitive, lambda *_, **__: [])
mlir.register_lowering(_primitive, _lower_check, platform=PLATFORM)
hooks.kept_in_recomputation(_primitive)


# Sites.


class _State(threading.local):
    sites: list[Site] | None = None


_state = _State()


@contextlib.contextmanager
def lowering(*, prints: bool) -> Iterator[list[Site]]:
    """Within, a step is lowered with its checks and, if asked for, with its prints; gives their sites."""
    sites: list[Site] = []
    previous, _state.sites = _state.sites, sites
    try:
        with hooks.printing_by(_lower_print if prints else lambda *_: None):
            yield sites
    finally:
        _state.sites = previous


def _lower_print(context: Any, operands: Sequence[Any], show: Callable[..., Any]) -> None:
    kinds = tuple(map(_kind, context.avals_in))
    _call(operands, Site(Print(functools.partial(_show, show), hooks.plain_format(show)), kinds))


def _show(show: Callable[..., Any], *values: Any) -> None:
    show(*map(jnp.asarray, values))


def _kind(aval: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _call(operands: Sequence[ir.Value], site: Site) -> None:
    assert _state.sites is not None
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(_state.sites))
    _state.sites.append(site)
    call = stablehlo.CustomCallOp([], list(operands), REPORT, has_side_effect=True)
    call.operation.attributes[_SITE] = number


def is_report(op: ir.Operation) -> bool:
    """Whether a custom call is one of a site."""
    return _SITE in op.attributes


def record(
    op: ir.Operation, sites: Sequence[Site], operands: Sequence[ir.Value], guards: Guards, place: Place | None
) -> Record:
    """What a site reports at the insertion point, in branches that these guards take."""
    site = sites[ir.IntegerAttr(op.attributes[_SITE]).value]
    if isinstance(site.what, Check):
        return Record(site, tuple(_check_values(operands, guards)), place, flagged=False)
    values = [where_taken(value, guards) for value in operands]
    if guards:
        values.append(where_taken(constant(_flag_type(), 1), guards))
    return Record(site, tuple(values), place, flagged=bool(guards))


def _check_values(operands: Sequence[ir.Value], guards: Guards) -> list[ir.Value]:
    """Whether the check fails; the rest only where it does, which few steps need compute."""
    failed, *rest = operands
    failed = where_taken(failed, guards)
    return [failed, *(where_taken(value, [(failed, True)]) for value in rest)]


def add_unended(
    records: list[Record], goes_on: ir.Value, message: str, guards: Guards, place: Place | None
) -> None:
    """Adds the check of a loop whose condition still holds after all iterations that it has.

    A loop in a function that is called again, or in the iterations of another one, has one check for all.
    """
    goes_on = where_taken(goes_on, guards)
    what = Check(message)
    for index, known in enumerate(records):
        if known.site.what == what and known.place == place and known.loop is None:
            goes_on = stablehlo.OrOp(known.values[0], goes_on).result
            records[index] = replace(known, values=(goes_on,))
            return
    site = Site(what, (jax.ShapeDtypeStruct((), bool),))
    records.append(Record(site, (goes_on,), place, flagged=False))


def where_taken(value: ir.Value, guards: Guards) -> ir.Value:
    """The value if all guards hold, else zeros."""
    for predicate, expected in reversed(guards):
        zero = constant(value.type, 0)
        sides = (value, zero) if expected else (zero, value)
        value = stablehlo.SelectOp(predicate, *sides).result
    return value


def _flag_type() -> ir.Type:
    return ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
