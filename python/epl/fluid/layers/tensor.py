"""Values that are made of nothing or of numbers, and other dtypes, sums and orders of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, Variable, one_dimension, paddle
from epl.fluid.layers.registry import LAYERS, layer


@layer
def create_tensor(dtype: str, name: str | None = None, persistable: bool = False) -> Any:
    """A variable without a value."""
    helper = paddle.base.layer_helper.LayerHelper("create_tensor", name=name)
    made = name or helper.name
    return helper.create_variable(name=made, dtype=dtype, persistable=persistable)


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
def clip(x: Any, min: float, max: float, name: str | None = None) -> Any:
    """Between two numbers."""
    return Builder("clip", name).op("clip", {"X": x}, {"min": float(min), "max": float(max)})


@layer
def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """Scaled down to a norm, if it is longer."""
    return Builder("clip_by_norm", name).op("clip_by_norm", {"X": x}, {"max_norm": float(max_norm)})


@layer
def ones(shape: Sequence[int], dtype: str, force_cpu: bool = False) -> Any:
    """Ones."""
    return LAYERS["fill_constant"](shape, dtype, 1.0, force_cpu)


@layer
def zeros(shape: Sequence[int], dtype: str, force_cpu: bool = False) -> Any:
    """Zeros."""
    return LAYERS["fill_constant"](shape, dtype, 0.0, force_cpu)


@layer
def ones_like(x: Any, out: Any = None) -> Any:
    """Ones in the shape of another tensor."""
    return Builder("ones_like").op("fill_any_like", {"X": x}, {"value": 1.0}, into=out)


@layer
def zeros_like(x: Any, out: Any = None) -> Any:
    """Zeros in the shape of another tensor."""
    return Builder("zeros_like").op("fill_any_like", {"X": x}, {"value": 0.0}, into=out)


@layer
def fill_constant_batch_size_like(
    input: Any,
    shape: Sequence[int],
    dtype: str,
    value: float,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    force_cpu: bool = False,
) -> Any:
    """One number everywhere, in a shape whose dimension `output_dim_idx` is one of another tensor."""
    told = _like(shape, dtype, input_dim_idx, output_dim_idx)
    told |= {"value": float(value), "force_cpu": force_cpu}
    made = Builder("fill_constant_batch_size_like").op(
        "fill_constant_batch_size_like", {"Input": input}, told, dtype=dtype
    )
    made.stop_gradient = True
    return made


@layer
def uniform_random_batch_size_like(
    input: Any,
    shape: Sequence[int],
    dtype: str = "float32",
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
) -> Any:
    """Uniform random numbers, in a shape whose dimension `output_dim_idx` is one of another tensor."""
    told = _like(shape, dtype, input_dim_idx, output_dim_idx)
    told |= {"min": float(min), "max": float(max), "seed": seed}
    return Builder("uniform_random_batch_size_like").op(
        "uniform_random_batch_size_like", {"Input": input}, told, dtype=dtype
    )


def _like(shape: Sequence[int], dtype: Any, own: int, made: int) -> dict[str, Any]:
    number = paddle.base.framework.convert_np_dtype_to_dtype_(dtype)
    return {"shape": list(shape), "dtype": number, "input_dim_idx": own, "output_dim_idx": made}


@layer
def uniform_random(
    shape: Sequence[int],
    dtype: str = "float32",
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
    name: str | None = None,
) -> Any:
    """Uniform random numbers."""
    return _random("uniform_random", shape, dtype, {"min": min, "max": max}, seed, name)


@layer
def gaussian_random(
    shape: Sequence[int],
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: str = "float32",
    name: str | None = None,
) -> Any:
    """Normal random numbers."""
    return _random("gaussian_random", shape, dtype, {"mean": mean, "std": std}, seed, name)


def _random(
    kind: str, shape: Sequence[int], dtype: Any, numbers: dict[str, float], seed: int, name: str | None
) -> Any:
    builder = Builder(kind, name)
    told = {each: float(value) for each, value in numbers.items()}
    told["dtype"] = paddle.base.framework.convert_np_dtype_to_dtype_(dtype)
    return builder.op(kind, {}, {**told, "shape": builder.numbers("shape", shape), "seed": seed}, dtype=dtype)


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
def range_(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    """Numbers at one distance."""
    made = paddle.arange(start, end, step, dtype)
    made.stop_gradient = True
    return made


@layer
def linspace(start: Any, stop: Any, num: int, dtype: Any = "float32", name: str | None = None) -> Any:
    """As many numbers at one distance, with both ends."""
    return paddle.linspace(start, stop, num, dtype, name)


@layer
def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Sequence[int] | None = None,
    dtype: str = "float32",
) -> Any:
    """A matrix with ones on its diagonal, and as many of it as `batch_shape` says."""
    builder = Builder("eye")
    columns = num_rows if num_columns is None else num_columns
    number = paddle.base.framework.convert_np_dtype_to_dtype_(dtype)
    made = builder.op("eye", {}, {"num_rows": num_rows, "num_columns": columns, "dtype": number}, dtype=dtype)
    if batch_shape is not None:
        extents = builder.numbers("batch_shape", batch_shape)
        made = LAYERS["unsqueeze"](made, [0] * len(extents))
        made = LAYERS["expand"](made, [*extents, 1, 1])
    made.stop_gradient = True
    return made


@layer
def shape(input: Any) -> Any:
    """The extents."""
    made = Builder("shape").op("shape", {"Input": input}, dtype="int32")
    made.stop_gradient = True
    return made


@layer
def increment(x: Any, value: float = 1.0, in_place: bool = True) -> Any:
    """Plus a number, where it is or as another variable."""
    return Builder("increment").op(
        "increment", {"X": x}, {"step": float(value)}, into=x if in_place else None
    )
