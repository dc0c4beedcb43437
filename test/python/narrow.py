"""Steps whose products are written with operands of bf16 and sums of f32, as users of JAX write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import source_info_util
from jax.extend import core

PRODUCTS = ("dot_general", "conv_general_dilated")
CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "checkpoint")


def with_narrow_products(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step, gradients included, with `x.astype(bfloat16)` of what each product of f32 reads, and with
    `preferred_element_type=float32`."""

    def narrow(*args: Any) -> Any:
        closed, out = jax.make_jaxpr(step, return_shape=True)(*args)
        results = _evaluate(closed.jaxpr, closed.consts, jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(out), results)

    return narrow


def _evaluate(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Like JAX's own evaluation, names of scopes included."""
    values: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, core.Literal) else values[variable]

    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        stack = source_info_util.current_name_stack() + equation.source_info.name_stack
        with source_info_util.user_context(equation.source_info.traceback, name_stack=stack):
            results = _compute(equation, [read(variable) for variable in equation.invars])
        values.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _compute(equation: Any, args: list[Any]) -> Sequence[Any]:
    params, name = equation.params, equation.primitive.name
    inner = params.get("jaxpr", params.get("call_jaxpr"))
    if name in CALLS:
        consts = getattr(inner, "consts", ())
        return _evaluate(getattr(inner, "jaxpr", inner), consts, args)
    if name in PRODUCTS and all(arg.dtype == jnp.float32 for arg in args):
        params = {**params, "preferred_element_type": jnp.float32}
        args = [arg.astype(jnp.bfloat16) for arg in args]
    results = equation.primitive.bind(*args, **params)
    return results if equation.primitive.multiple_results else [results]
