"""JAX's primitives on whole matrices become `epl.factorize` and `epl.triangular_solve`.

Problem: each platform of JAX has its own form of them: calls of a library's functions, loops, operations of
StableHLO. Of none can a sharding rule be derived.
Method: in steps, each is lowered to a custom call that says what it is; custom calls become operations of
`epl` before the legalization. Gradients, `vmap` and `jnp.linalg` are JAX's: made of these primitives.
Numbers of 16 bits are converted to float32 and back. Invariant out: none of these custom calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import hooks
from epl.adapters.jax.constraints import PLATFORM
from epl.adapters.jax.simplify import operations

FACTORIZE = "epl.factorize"
TRIANGULAR_SOLVE = "epl.triangular_solve"

_NARROW = (jnp.bfloat16, jnp.float16)


def raise_factorizations(module: ir.Module) -> None:
    """Custom calls of both become the operations."""
    for op in operations(module, "stablehlo.custom_call"):
        name = ir.StringAttr(op.attributes["call_target_name"]).value
        if name not in (FACTORIZE, TRIANGULAR_SOLVE):
            continue
        words = ir.StringAttr(op.attributes["backend_config"]).value.split()
        attributes = {word: ir.UnitAttr.get() for word in words}
        if name == FACTORIZE:
            attributes = {"kind": ir.Attribute.parse(f"#epl<factorization {words[0]}>")}
        types = [result.type for result in op.results]
        with ir.InsertionPoint(op):
            new = ir.Operation.create(name, types, list(op.operands), attributes, loc=op.location)
        for old, result in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(result)
        op.erase()


def _call(name: str, said: str, context: Any, operands: Sequence[ir.Value]) -> list[ir.Value]:
    config = ir.StringAttr.get(said)
    call = stablehlo.CustomCallOp(
        hooks.result_types(context), list(operands), name, has_side_effect=False, backend_config=config
    )
    return list(call.results)


def _factorize(kind: str) -> Callable[..., list[ir.Value]]:
    """The rule of a primitive that is a kind of factorization, whatever its parameters."""
    return lambda context, *operands, **_: _call(FACTORIZE, kind, context, operands)


def _triangular_solve(context: Any, *operands: ir.Value, **params: Any) -> list[ir.Value]:
    said = {
        "left": params["left_side"],
        "lower": params["lower"],
        "transpose": params["transpose_a"],
        "unit_diagonal": params["unit_diagonal"],
    }
    return _call(TRIANGULAR_SOLVE, " ".join(word for word, holds in said.items() if holds), context, operands)


def _eigh(context: Any, a: ir.Value, **params: Any) -> Any:
    """Its lower triangle, all its eigenvalues; others are made of that, whatever the algorithm."""
    n = context.avals_in[0].shape[-1]
    chosen = params["subset_by_index"] or (0, n)
    if params["lower"] and chosen == (0, n):
        return _call(FACTORIZE, "eigh", context, [a])

    def whole(a: Any) -> Any:
        a = a if params["lower"] else a.mT
        rest = {"sort_eigenvalues": True, "algorithm": None}
        v, w = hooks.MATRIX_PRIMITIVES["eigh"].bind(a, lower=True, subset_by_index=None, **rest)
        return v[..., slice(*chosen)], w[..., slice(*chosen)]

    return hooks.lower_function(whole, multiple_results=True)(context, a)


def _svd(context: Any, a: ir.Value, **params: Any) -> Any:
    """All singular values, whatever the algorithm."""
    rank = min(context.avals_in[0].shape[-2:])
    chosen = params["subset_by_index"] or (0, rank)
    if chosen == (0, rank):
        return _call(FACTORIZE, "svd", context, [a])

    def whole(a: Any) -> Any:
        rest = {"full_matrices": False, "compute_uv": params["compute_uv"], "algorithm": None}
        s, *vectors = hooks.MATRIX_PRIMITIVES["svd"].bind(a, subset_by_index=None, **rest)
        part = slice(*chosen)
        if not vectors:
            return [s[..., part]]
        u, vt = vectors
        return [s[..., part], u[..., part], vt[..., part, :]]

    return hooks.lower_function(whole, multiple_results=True)(context, a)


def _leave(context: Any, *operands: ir.Value, **_: Any) -> list[ir.Value]:
    """A call that nobody takes: an error where it is used, with the user's line."""
    return _call(context.primitive.name, "", context, operands)


def _widening(primitive: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule with numbers of 16 bits converted to float32 and back."""

    def lower(context: Any, *operands: ir.Value, **params: Any) -> Any:
        dtype = context.avals_in[0].dtype
        if dtype not in _NARROW:
            return rule(context, *operands, **params)

        def widened(*values: Any) -> Any:
            results = primitive.bind(*(value.astype(jnp.float32) for value in values), **params)
            results = results if primitive.multiple_results else [results]
            avals = context.avals_out
            return [result.astype(aval.dtype) for result, aval in zip(results, avals, strict=True)]

        return hooks.lower_function(widened, multiple_results=True)(context, *operands)

    return lower


_RULES = {
    "cholesky": _factorize("cholesky"),
    "eigh": _eigh,
    "geqp3": _leave,
    "geqrf": _factorize("qr"),
    "householder_product": _factorize("orthogonal"),
    "lu": _factorize("lu"),
    "svd": _svd,
    "triangular_solve": _triangular_solve,
}

for _name, _rule in _RULES.items():
    _primitive = hooks.MATRIX_PRIMITIVES[_name]
    hooks.lower_in_steps(_primitive, PLATFORM, _widening(_primitive, _rule))
