"""The rows of a lookup in the trace of a step that is compiled, also in functions that `jax.vmap` maps.

Problem: in a mapped function a lookup gives the rows of one element, and the step's argument has those of
all. Method: a primitive of ids and rows. Mapped over ids it is the same of more ids, the new dimension in
front, as in the trace that has found the lookups (`lookups.py`). With as many ids as there are rows it is the
rows: none is left in what is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from epl.adapters.jax import hooks
from epl.errors import Error, UnsupportedError
from epl.places import calling_place

_primitive = Primitive("epl_rows")


def rows_of(ids: Any, rows: Any) -> Any:
    """What a lookup of `ids` gives, where `rows` are those of all ids that it has in the step."""
    return rows if ids.shape == rows.shape[:-1] else _primitive.bind(ids, rows)


def _map(operands: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, int]:
    if dims[0] is None:
        raise UnsupportedError(
            "a table is mapped by jax.vmap, and the ids that are looked up in it are not: map both, or the "
            "ids alone",
            calling_place(),
        )
    pairs = zip(operands, dims, strict=True)
    return rows_of(*(value if dim is None else jnp.moveaxis(value, dim, 0) for value, dim in pairs)), 0


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    ids, rows = primals
    found = rows_of(ids, rows)
    tangent = tangents[1]
    return found, jnp.zeros_like(found) if type(tangent) is ad.Zero else rows_of(ids, tangent)


def _transpose(cotangent: Any, ids: Any, rows: Any) -> list[Any]:
    shape = rows.aval.shape
    if type(cotangent) is ad.Zero:
        return [None, ad.Zero(rows.aval)]
    if cotangent.shape != shape:
        raise UnsupportedError(
            "the gradient of a table is taken within jax.vmap, for some of the ids of its lookup: "
            f"{list(ids.shape)} of {list(shape[:-1])}: take it of the mapped function",
            calling_place(),
        )
    return [None, cotangent]


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise Error("a step looks up other ids of a table when it is traced again: expected the same each time")


_primitive.def_abstract_eval(lambda ids, rows: hooks.shaped_array((*ids.shape, rows.shape[-1]), rows.dtype))
batching.primitive_batchers[_primitive] = _map
ad.primitive_jvps[_primitive] = _jvp
ad.primitive_transposes[_primitive] = _transpose
mlir.register_lowering(_primitive, _refuse)
