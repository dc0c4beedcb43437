"""Rows by number, and the numbers of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

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


@operator("accuracy")
def accuracy(inputs: Inputs, _: Attributes) -> Outputs:
    """The share of rows in whose numbers the label is, how many those are, and how many rows."""
    hits = jnp.any(inputs.one("Indices") == inputs.one("Label"), axis=1)
    right, total = jnp.sum(hits, dtype=jnp.int32), inputs.extent("Indices", 0)
    return {
        "Accuracy": [right.astype(jnp.float32) / total],
        "Correct": [right],
        "Total": [jnp.asarray(total, jnp.int32)],
    }
