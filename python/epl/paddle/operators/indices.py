"""Rows by number, and the numbers of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from epl.errors import UnsupportedError
from epl.paddle import dtypes
from epl.paddle.operators.table import TABLE, Attributes, Inputs, Operator, Outputs, operator, out


@operator("lookup_table")
def lookup(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Rows of a table, by numbers in a last dimension of one element."""
    return lookup_v2(inputs.with_values({**inputs, "Ids": [inputs.one("Ids").squeeze(-1)]}), attributes)


@operator("lookup_table_v2")
def lookup_v2(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Rows of a table; zeros for the number `padding_idx`, if that is one."""
    table, ids = inputs.one("W"), inputs.one("Ids")
    rows = jnp.take(table, ids, axis=0, mode="clip")
    padding = attributes.get("padding_idx", -1)
    return out(rows if padding == -1 else jnp.where((ids == padding)[..., None], 0, rows))


@operator("gather")
def gather(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Parts along a dimension."""
    axis = inputs.maybe("Axis")
    number = attributes.get("axis", 0) if axis is None else int(axis)
    return out(jnp.take(inputs.one("X"), inputs.one("Index").reshape(-1), axis=number, mode="clip"))


@operator("gather_nd")
def gather_nd(inputs: Inputs, _: Attributes) -> Outputs:
    """Parts by several numbers each."""
    index = inputs.one("Index")
    return out(inputs.one("X")[tuple(jnp.moveaxis(index, -1, 0))])


@operator("scatter")
def scatter(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Rows, those of some numbers replaced, or what replaces them added up."""
    x, ids, updates = inputs.one("X"), inputs.one("Ids").reshape(-1), inputs.one("Updates")
    if attributes.get("overwrite", True):
        return out(x.at[ids].set(updates))
    return out(x.at[ids].set(0).at[ids].add(updates))


@operator("multiplex")
def multiplex(inputs: Inputs, _: Attributes) -> Outputs:
    """Each row of the one among several tensors that has its number."""
    first, *others = inputs["X"]
    ids = inputs.one("Ids").reshape(-1, *(1,) * (first.ndim - 1))
    for number, other in enumerate(others, 1):
        first = jnp.where(ids == number, other, first)
    return out(first)


@operator("sequence_mask")
def sequence_mask(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Ones for so many elements of each row, zeros for the others.

    Raises:
      UnsupportedError: for rows as long as the longest, which the program does not know.
    """
    if attributes["maxlen"] < 0:
        raise UnsupportedError('"sequence_mask" without a length of rows is not supported')
    x = inputs.one("X")[..., None]
    places = lax.broadcasted_iota(x.dtype, (*x.shape[:-1], attributes["maxlen"]), x.ndim - 1)
    return {"Y": [(places < x).astype(dtypes.computed(attributes["out_dtype"]))]}


@operator("one_hot_v2")
def one_hot(inputs: Inputs, attributes: Attributes) -> Outputs:
    """A row with a one for each number."""
    dtype = dtypes.computed(attributes.get("dtype", 5))
    return out(jax.nn.one_hot(inputs.one("X"), attributes["depth"], dtype=dtype))


@operator("top_k", "top_k_v2")
def top_k(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The largest elements along a dimension, or the smallest, and where they are."""
    x, axis = inputs.one("X"), attributes.get("axis", -1)
    moved = jnp.moveaxis(x, axis, -1)
    if attributes.get("largest", True):
        values, places = lax.top_k(moved, attributes["k"])
    else:
        places = jnp.argsort(moved, axis=-1)[..., : attributes["k"]]
        values = jnp.take_along_axis(moved, places, -1)
    return {"Out": [jnp.moveaxis(values, -1, axis)], "Indices": [jnp.moveaxis(places, -1, axis)]}


@operator("argsort")
def argsort(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The elements in order along a dimension, and where they were."""
    x, axis = inputs.one("X"), attributes.get("axis", -1)
    places = jnp.argsort(x, axis=axis, descending=attributes.get("descending", False))
    return {"Out": [jnp.take_along_axis(x, places, axis)], "Indices": [places]}


def _extreme(find: Callable[..., Any]) -> Operator:
    def compute(inputs: Inputs, attributes: Attributes) -> Outputs:
        x, axis = inputs.one("X"), attributes["axis"]
        keeps = attributes.get("keepdims", False)
        if attributes.get("flatten"):
            x, axis = x.reshape(-1), 0
        return out(find(x, axis=axis, keepdims=keeps).astype(dtypes.computed(attributes.get("dtype", 3))))

    return compute


TABLE.update({"arg_max": _extreme(jnp.argmax), "arg_min": _extreme(jnp.argmin)})


@operator("where")
def where(inputs: Inputs, _: Attributes) -> Outputs:
    """Of two tensors, element by element."""
    return out(jnp.where(inputs.one("Condition"), inputs.one("X"), inputs.one("Y")))
