"""Values that are made of nothing: arrays of NumPy, which ops that need numbers can read in a trace."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import UnsupportedError
from epl.paddle import dtypes
from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


@operator("fill_constant")
def fill_constant(_: Inputs, attributes: Attributes) -> Outputs:
    """One number everywhere, which other ops may know; as a text, if it has more digits than a float."""
    return out(np.full(attributes["shape"], _number(attributes), dtypes.computed(attributes["dtype"])))


@operator("fill_constant_batch_size_like")
def fill_like_batch(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same, in as many rows as another tensor has."""
    shape, dim = list(attributes["shape"]), attributes.get("output_dim_idx", 0)
    own = attributes.get("input_dim_idx", 0)
    x = inputs.one("Input")
    row = x[tuple(slice(None) if each == own else 0 for each in range(x.ndim))]
    shape[dim] = 1
    row = row.reshape([-1 if each == dim else 1 for each in range(len(shape))])
    column = _filled(row, _number(attributes), dtypes.computed(attributes["dtype"]))
    return out(jnp.broadcast_to(column, [max(pair) for pair in zip(shape, column.shape, strict=True)]))


@operator("fill_any_like")
def fill_like(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same, in the shape of another tensor."""
    x, number = inputs.one("X"), attributes.get("dtype", -1)
    return out(_filled(x, attributes["value"], x.dtype if number == -1 else dtypes.computed(number)))


@operator("fill_zeros_like")
def zeros_like(inputs: Inputs, _: Attributes) -> Outputs:
    """Zeros in the shape of another tensor."""
    return out(_filled(inputs.one("X"), 0, inputs.one("X").dtype))


def _filled(x: Any, value: Any, dtype: Any) -> Any:
    """A number in the shape of a tensor, made of that one, so that it has the rows which that one has."""
    number = jnp.asarray(value, dtype)
    return jnp.where(x == x, number, number)


@operator("assign_value")
def assign_value(_: Inputs, attributes: Attributes) -> Outputs:
    """Numbers that the program has."""
    names = ("fp32_values", "int32_values", "int64_values", "bool_values", "values")
    values = next((attributes[name] for name in names if attributes.get(name)), ())
    dtype = dtypes.computed(attributes["dtype"])
    return out(np.asarray(values, dtype).reshape(attributes["shape"]))


@operator("range")
def range_(inputs: Inputs, _: Attributes) -> Outputs:
    """Numbers at one distance, of ends that the program knows.

    Raises:
      UnsupportedError: for ends that are computed.
    """
    begin, end, step = _known("range", inputs, "Start", "End", "Step")
    return out(np.arange(begin, end, step, dtype=inputs.one("Start").dtype))


@operator("linspace")
def linspace(inputs: Inputs, attributes: Attributes) -> Outputs:
    """So many numbers at one distance, with both ends, all of which the program knows.

    Raises:
      UnsupportedError: for ends that are computed.
    """
    begin, end, count = _known("linspace", inputs, "Start", "Stop", "Num")
    return out(np.linspace(begin, end, count, dtype=dtypes.computed(attributes["dtype"])))


@operator("eye")
def eye(_: Inputs, attributes: Attributes) -> Outputs:
    """A matrix with ones on its diagonal."""
    rows, columns = attributes["num_rows"], attributes["num_columns"]
    return out(np.eye(rows, rows if columns == -1 else columns, dtype=dtypes.computed(attributes["dtype"])))


def _known(kind: str, inputs: Inputs, *names: str) -> list[Any]:
    """Numbers of inputs that the program knows."""
    given = [inputs.one(name) for name in names]
    if any(isinstance(each, jax.core.Tracer) for each in given):
        raise UnsupportedError(f'"{kind}" of ends that are computed is not supported')
    return [np.asarray(each).item() for each in given]


def _number(attributes: Attributes) -> Any:
    text = attributes.get("str_value", "")
    if not text:
        return attributes["value"]
    return float(text) if any(each in text for each in ".einf") else int(text)
