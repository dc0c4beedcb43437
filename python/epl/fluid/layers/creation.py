"""Values that are made of nothing, of numbers or of shapes, or are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epl.fluid.layers.builder import Builder, Variable, paddle
from epl.fluid.layers.registry import LAYERS, layer


@layer
def create_tensor(dtype: str, name: str | None = None, persistable: bool = False) -> Any:
    """A variable without a value."""
    helper = paddle.base.layer_helper.LayerHelper("create_tensor", name=name)
    made = name or helper.name
    return helper.create_variable(name=made, dtype=dtype, persistable=persistable)


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
    told |= {"value": float(value), **({"force_cpu": True} if force_cpu else {})}
    made = Builder("fill_constant_batch_size_like").op(
        "fill_constant_batch_size_like", {"Input": input}, told, dtype=dtype
    )
    made.stop_gradient = True
    return made


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
def range_(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    """Numbers at one distance, from `start` on, before `end`; these may be Variables of one element."""
    given = [start, end, step]
    made = Builder("range").op("range", _ends(("Start", "End", "Step"), given, dtype), dtype=dtype)
    if not any(isinstance(each, Variable) for each in given):
        made.desc.set_shape([len(np.arange(*given))])
    made.stop_gradient = True
    return made


@layer
def linspace(start: Any, stop: Any, num: int, dtype: Any = "float32", name: str | None = None) -> Any:
    """As many numbers at one distance, with both ends; these may be Variables of one element."""
    inputs = {**_ends(("Start", "Stop"), [start, stop], dtype), **_ends(("Num",), [num], "int32")}
    told = {"dtype": paddle.base.framework.convert_np_dtype_to_dtype_(dtype)}
    made = Builder("linspace", name).op("linspace", inputs, told, dtype=dtype)
    made.stop_gradient = True
    return made


def _ends(names: Sequence[str], values: Sequence[Any], dtype: Any) -> dict[str, Any]:
    """Numbers as variables of one element, which an op reads."""
    fill = LAYERS["fill_constant"]
    found = [value if isinstance(value, Variable) else fill([1], dtype, value) for value in values]
    return dict(zip(names, found, strict=True))


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
def rank(input: Any) -> Any:
    """The number of dimensions, of one element."""
    return LAYERS["fill_constant"]([1], "int32", len(input.shape))
