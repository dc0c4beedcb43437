"""Jaxprs without calls, and without what they print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from epl.adapters.jax import hooks

_CALLED = {"jit": "jaxpr", "closed_call": "call_jaxpr", "remat2": "jaxpr"}
_CALLED |= {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}


def called(equation: Any) -> Any:
    """The closed jaxpr that an equation calls with its operands, and whose results are its own, or None."""
    jaxpr = equation.params.get(_CALLED.get(equation.primitive.name))
    return ClosedJaxpr(jaxpr, ()) if isinstance(jaxpr, Jaxpr) else jaxpr


def inlined(jaxpr: Any) -> Any:
    """A closed jaxpr without calls, except for what `jax.checkpoint` computes again."""

    def evaluate(closed: Any, values: Sequence[Any]) -> list[Any]:
        known = dict(zip(closed.jaxpr.invars, values, strict=True))
        known |= dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))

        def read(value: Any) -> Any:
            return value.val if isinstance(value, Literal) else known[value]

        for equation in closed.jaxpr.eqns:
            operands, inner = [read(value) for value in equation.invars], called(equation)
            is_kept = inner is None or equation.params.get("differentiated")
            with hooks.standing_at(equation):
                results = hooks.bind(equation, operands) if is_kept else evaluate(inner, operands)
            known.update(zip(equation.outvars, results, strict=True))
        return [read(value) for value in closed.jaxpr.outvars]

    return jax.make_jaxpr(lambda *values: evaluate(jaxpr, values))(
        *(jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in jaxpr.in_avals)
    )


def silent(jaxpr: Any) -> Any:
    """A jaxpr, closed or not, without prints and checks, in what it holds neither."""
    if isinstance(jaxpr, ClosedJaxpr):
        return jaxpr.replace(jaxpr=silent(jaxpr.jaxpr))
    kept = [each for each in jaxpr.eqns if hooks.DEBUG_EFFECT not in each.effects or each.outvars]
    return jaxpr.replace(eqns=[_silent(each) for each in kept], effects=jaxpr.effects - {hooks.DEBUG_EFFECT})


def _silent(equation: Any) -> Any:
    if hooks.DEBUG_EFFECT not in equation.effects:
        return equation
    params = jax.tree.map(
        lambda value: silent(value) if _is_jaxpr(value) else value, equation.params, is_leaf=_is_jaxpr
    )
    return equation.replace(params=params, effects=equation.effects - {hooks.DEBUG_EFFECT})


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, (Jaxpr, ClosedJaxpr))
