"""Primitives that mark a value and have no results.

Problem: a mark must come with its value through gradients, `vmap`, `checkpoint`, loops and inner jits, though
nothing reads what it makes.
Method: a primitive of the effect that `jax.debug.print` has, so that JAX drops it nowhere and differentiates
through it. Under `vmap` the value of all elements is marked, as it lies. Lowered it is nothing.
"""

from __future__ import annotations

from typing import Any

from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from epl.adapters.jax import hooks


def marker(name: str) -> Any:
    """A primitive `name` of one operand; what it is bound with beside that is its parameters."""
    primitive = Primitive(name)
    primitive.multiple_results = True

    def jvp(primals: Any, _: Any, **params: Any) -> Any:
        return primitive.bind(*primals, **params), []

    def batch(values: Any, _: Any, **params: Any) -> Any:
        return primitive.bind(*values, **params), []

    primitive.def_impl(lambda _, **__: [])
    primitive.def_effectful_abstract_eval(lambda *_, **__: ([], {hooks.DEBUG_EFFECT}))
    ad.primitive_jvps[primitive] = jvp
    batching.primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, lambda *_, **__: [])
    hooks.kept_in_recomputation(primitive)
    return primitive
