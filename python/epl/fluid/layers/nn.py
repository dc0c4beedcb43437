"""Layers with parameters, products and what draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, Variable, one_dimension, paddle
from epl.fluid.layers.registry import LAYERS, layer


@layer
def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """A fully connected layer of one input, or of several, whose products are added up.

    Args:
      size: of what it makes.
      num_flatten_dims: the dimensions that stay, -1: all but the last; the others are multiplied.
      param_attr: of the weights, one for each input or one for all.
    """
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    builder = Builder("fc", name, param_attr, bias_attr, act)
    products = []
    for x, attr in zip(inputs, builder.param_attrs(len(inputs)), strict=True):
        if not isinstance(x, Variable):
            raise ArgumentError(f"layers.fc: expected a Variable as input, found {type(x).__name__}")
        rows = num_flatten_dims if num_flatten_dims != -1 else len(x.shape) - 1
        if not 0 < rows < len(x.shape):
            raise ArgumentError(
                f"layers.fc: num_flatten_dims {num_flatten_dims} of an input of shape {list(x.shape)}"
            )
        inner = x.shape[rows:]
        extents = [-1 if -1 in inner else math.prod(inner), size]
        weights = builder.parameter(extents, x.dtype, attr)
        told = {"x_num_col_dims": rows, "y_num_col_dims": 1}
        products.append(builder.op("mul", {"X": x, "Y": weights}, told))
    total = products[0] if len(products) == 1 else builder.op("sum", {"X": products})
    return builder.activation(builder.bias(total, len(total.shape) - 1))


@layer
def embedding(
    input: Any,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: str = "float32",
) -> Any:
    """Rows of a table by numbers.

    Args:
      input: integers of [..., 1]; the last dimension becomes that of the rows.
      size: rows, and elements of one.
      is_sparse: whether the gradient has the rows that are used alone.
      padding_idx: the number that has zeros for a row; negative ones count from behind.
    """
    return rows_of("lookup_table", input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def rows_of(
    kind: str,
    ids: Any,
    size: Sequence[int],
    is_sparse: bool,
    is_distributed: bool,
    padding_idx: int | None,
    param_attr: Any,
    dtype: str,
) -> Any:
    """Rows of a table, by the op of this kind."""
    builder = Builder("embedding", param_attr=param_attr)
    table = builder.parameter(builder.numbers("size", size, 2), dtype, param_attr)
    padding = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
    told = {"is_sparse": is_sparse, "is_distributed": is_distributed, "padding_idx": padding}
    return builder.op(kind, {"Ids": ids, "W": table}, told, dtype=dtype)


@layer
def dropout(
    x: Any,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Any:
    """Elements are dropped with a probability.

    Args:
      seed: has no effect on what EPL draws.
      dropout_implementation: "downgrade_in_infer": what is kept is scaled in tests; "upscale_in_train": where
        it is dropped.
    """
    known = ("downgrade_in_infer", "upscale_in_train")
    if dropout_implementation not in known:
        raise ArgumentError(
            f"layers.dropout: expected a dropout_implementation of {known}, found {dropout_implementation!r}"
        )
    told = {
        "dropout_prob": dropout_prob,
        "is_test": is_test,
        "fix_seed": seed is not None,
        "seed": seed or 0,
        "dropout_implementation": dropout_implementation,
    }
    return Builder("dropout", name).op("dropout", {"X": x}, told, others={"Mask": "uint8"})


@layer
def softmax(input: Any, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Any:
    """Softmax along a dimension."""
    return Builder("softmax", name).op("softmax", {"X": input}, {"axis": axis, "use_cudnn": use_cudnn})


@layer
def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """A row of `depth` elements with a one, for each number of [..., 1]."""
    ids = LAYERS["squeeze"](input, [-1])
    return hot(ids, depth, allow_out_of_range)


def hot(ids: Any, depth: int, allow_out_of_range: bool) -> Any:
    """A row with a one for each number."""
    builder = Builder("one_hot")
    (count,) = builder.numbers("depth", depth)
    told = {"depth": count, "allow_out_of_range": allow_out_of_range}
    made = builder.op("one_hot_v2", {"X": ids}, told, dtype="float32")
    made.stop_gradient = True
    return made


@layer
def matmul(
    x: Any,
    y: Any,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Any:
    """Products of matrices or of batches of these, each one transposed if asked for, times `alpha`."""
    told = {"transpose_X": transpose_x, "transpose_Y": transpose_y, "alpha": float(alpha)}
    return one_dimension(Builder("matmul", name).op("matmul", {"X": x, "Y": y}, told))


@layer
def mul(x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None) -> Any:
    """The product of two matrices that dimensions are put together to."""
    told = {"x_num_col_dims": x_num_col_dims, "y_num_col_dims": y_num_col_dims}
    return Builder("mul", name).op("mul", {"X": x, "Y": y}, told)


@layer
def prelu(x: Any, mode: str, param_attr: Any = None, name: str | None = None) -> Any:
    """Relu with slopes that are trained below zero: "all" elements have one, a "channel" or an "element"."""
    shapes = {"all": [1], "channel": [1, *x.shape[1:2], 1, 1], "element": [1, *x.shape[1:]]}
    if mode not in shapes:
        raise ArgumentError(f"layers.prelu: expected a mode of {tuple(shapes)}, found {mode!r}")
    builder = Builder("prelu", name, param_attr)
    slopes = builder.parameter(
        shapes[mode], x.dtype, param_attr, default=paddle.nn.initializer.Constant(0.25)
    )
    return builder.op("prelu", {"X": x, "Alpha": slopes}, {"mode": mode})


@layer
def maxout(x: Any, groups: int, name: str | None = None, axis: int = 1) -> Any:
    """The largest of as many channels each."""
    return Builder("maxout", name).op("maxout", {"X": x}, {"groups": groups, "axis": axis})


@layer
def sequence_mask(x: Any, maxlen: int | None = None, dtype: str = "int64", name: str | None = None) -> Any:
    """Ones for as many elements of a row as `x` says, then zeros: [*x.shape, maxlen]."""
    builder = Builder("sequence_mask", name)
    if maxlen is None or isinstance(maxlen, Variable):
        raise builder.unsupported("a maxlen that is not a number")
    number = paddle.base.framework.convert_np_dtype_to_dtype_(dtype)
    told = {"maxlen": maxlen, "out_dtype": number}
    made = builder.op("sequence_mask", {"X": x}, told, output="Y", dtype=dtype)
    made.stop_gradient = True
    return made


@layer
def add_position_encoding(input: Any, alpha: float, beta: float, name: str | None = None) -> Any:
    """`alpha` times [batch, length, width], plus `beta` times sines and cosines of the places."""
    told = {"alpha": float(alpha), "beta": float(beta)}
    return Builder("add_position_encoding", name).op("add_position_encoding", {"X": input}, told)


@layer
def label_smooth(
    label: Any,
    prior_dist: Any = None,
    epsilon: float = 0.1,
    dtype: str = "float32",
    name: str | None = None,
) -> Any:
    """Labels of one-hot rows, mixed with what is likely before: `prior_dist`, or all alike."""
    inputs = {"X": label, "PriorDist": prior_dist}
    made = Builder("label_smooth", name).op("label_smooth", inputs, {"epsilon": float(epsilon)}, dtype=dtype)
    made.stop_gradient = True
    return made
