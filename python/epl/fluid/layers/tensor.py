"""Copies, sums, means and orders of values, other dtypes, and what can be asked of them."""

from __future__ import annotations

from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, Variable, one_dimension, paddle
from epl.fluid.layers.registry import LAYERS, layer


@layer
def cast(x: Any, dtype: Any) -> Any:
    """Another dtype."""
    wanted = paddle.base.framework.convert_np_dtype_to_dtype_
    number = dtype if isinstance(dtype, paddle.base.core.VarDesc.VarType) else wanted(dtype)
    told = {"in_dtype": getattr(x, "dtype", number), "out_dtype": number}
    return Builder("cast").op("cast", {"X": x}, told, dtype=number)


@layer
def assign(input: Any, output: Any = None) -> Any:
    """The value of a variable, or numbers of NumPy; `output` is a variable that becomes it."""
    if isinstance(input, Variable):
        return Builder("assign").op("assign", {"X": input}, into=output)
    try:
        return paddle.assign(input, output)
    except TypeError as error:
        raise ArgumentError(f"layers.assign: {error}") from error


@layer
def sums(input: Any, out: Any = None) -> Any:
    """The sum of tensors of one shape; `out` is a variable that becomes it."""
    return Builder("sum").op("sum", {"X": input}, into=out)


@layer
def sum_(x: Any) -> Any:
    """The sum of tensors of one shape."""
    return sums(x)


@layer
def mean(x: Any, name: str | None = None) -> Any:
    """The mean of all elements, of one element."""
    return one_dimension(Builder("mean", name).op("mean", {"X": x}))


@layer
def scale(
    x: Any,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Times a number, which may be a Variable of one element, and plus one, before or behind that."""
    builder = Builder("scale", name, act=act)
    told = {"bias": float(bias), "bias_after_scale": bias_after_scale}
    inputs = {"X": x}
    if isinstance(scale, Variable):
        inputs["ScaleTensor"] = scale
    else:
        told["scale"] = float(scale)
    return builder.activation(builder.op("scale", inputs, told))


@layer
def cumsum(
    x: Any, axis: int | None = None, exclusive: bool | None = None, reverse: bool | None = None
) -> Any:
    """Sums of all elements up to each one along a dimension, by default the last; without it if exclusive."""
    told = {"axis": -1 if axis is None else axis, "exclusive": bool(exclusive), "reverse": bool(reverse)}
    return Builder("cumsum").op("cumsum", {"X": x}, told)


@layer
def clip(x: Any, min: float, max: float, name: str | None = None) -> Any:
    """Between two numbers."""
    return Builder("clip", name).op("clip", {"X": x}, {"min": float(min), "max": float(max)})


@layer
def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """Scaled down to a norm, if it is longer."""
    return Builder("clip_by_norm", name).op("clip_by_norm", {"X": x}, {"max_norm": float(max_norm)})


@layer
def argmax(x: Any, axis: int = 0) -> Any:
    """Where along a dimension the largest element is."""
    return _extreme("arg_max", x, axis)


@layer
def argmin(x: Any, axis: int = 0) -> Any:
    """Where along a dimension the smallest element is."""
    return _extreme("arg_min", x, axis)


def _extreme(kind: str, x: Any, axis: int) -> Any:
    made = one_dimension(Builder(kind).op(kind, {"X": x}, {"axis": axis}, dtype="int64"))
    made.stop_gradient = True
    return made


@layer
def argsort(input: Any, axis: int = -1, descending: bool = False, name: str | None = None) -> tuple[Any, Any]:
    """The elements in order along a dimension, and where they were."""
    builder = Builder("argsort", name)
    places = builder.variable("int64")
    told = {"axis": axis, "descending": descending}
    return builder.op("argsort", {"X": input}, told, others={"Indices": places}), places


@layer
def topk(input: Any, k: int, name: str | None = None) -> tuple[Any, Any]:
    """The largest elements along the last dimension, and where they are."""
    builder = Builder("top_k", name)
    places = builder.variable("int64")
    places.stop_gradient = True
    (count,) = builder.numbers("k", k)
    return builder.op("top_k", {"X": input}, {"k": count}, others={"Indices": places}), places


@layer
def shape(input: Any) -> Any:
    """The extents."""
    made = Builder("shape").op("shape", {"Input": input}, dtype="int32")
    made.stop_gradient = True
    return made


@layer
def size(input: Any) -> Any:
    """How many elements there are, of one element."""
    made = one_dimension(Builder("size").op("size", {"Input": input}, dtype="int64"))
    made.stop_gradient = True
    return made


@layer
def isfinite(x: Any) -> Any:
    """Whether all elements are finite, of one element."""
    return LAYERS["reduce_all"](_tested("isfinite_v2", x))


@layer
def has_inf(x: Any) -> Any:
    """Whether an element is infinite, of one element."""
    return LAYERS["reduce_any"](_tested("isinf_v2", x))


@layer
def has_nan(x: Any) -> Any:
    """Whether an element is no number, of one element."""
    return LAYERS["reduce_any"](_tested("isnan_v2", x))


def _tested(kind: str, x: Any) -> Any:
    made = Builder(kind).op(kind, {"X": x}, dtype="bool")
    made.stop_gradient = True
    return made


@layer
def increment(x: Any, value: float = 1.0, in_place: bool = True) -> Any:
    """Plus a number, where it is or as another variable."""
    return Builder("increment").op(
        "increment", {"X": x}, {"step": float(value)}, into=x if in_place else None
    )
