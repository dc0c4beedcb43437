"""Convolutions and pooling, of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out

Padding = list[tuple[int, int]]


def _layout(attributes: Attributes) -> str:
    found = attributes.get("data_format", "NCHW")
    return "NCHW" if found == "AnyLayout" else str(found)


def _paddings(
    attributes: Attributes, extents: Sequence[int], windows: Sequence[int], strides: Sequence[int]
) -> Padding:
    """Before and behind, for each dimension of an image."""
    algorithm = attributes.get("padding_algorithm", "EXPLICIT")
    if algorithm == "VALID":
        return [(0, 0)] * len(extents)
    if algorithm == "SAME":
        padding: Padding = lax.padtype_to_pads(extents, windows, strides, "SAME")
        return padding
    given = list(attributes["paddings"])
    if len(given) == len(extents):
        return [(each, each) for each in given]
    return list(zip(given[::2], given[1::2], strict=True))


def _dilations(attributes: Attributes) -> list[int]:
    """Paddle has none where it finds the padding itself."""
    found = list(attributes["dilations"])
    return [1] * len(found) if attributes.get("padding_algorithm") == "SAME" else found


@operator("conv2d", "depthwise_conv2d")
def conv2d(inputs: Inputs, attributes: Attributes) -> Outputs:
    """A convolution, in groups of channels."""
    x, weights = inputs.one("Input"), inputs.one("Filter")
    layout, strides, dilations = _layout(attributes), attributes["strides"], _dilations(attributes)
    extents = [x.shape[layout.index(dim)] for dim in "HW"]
    windows = [(each - 1) * by + 1 for each, by in zip(weights.shape[2:], dilations, strict=True)]
    found = lax.conv_general_dilated(
        x,
        weights,
        strides,
        _paddings(attributes, extents, windows, strides),
        rhs_dilation=dilations,
        feature_group_count=attributes["groups"],
        dimension_numbers=(layout, "OIHW", layout),
    )
    return {"Output": [found]}


@operator("conv2d_transpose", "depthwise_conv2d_transpose")
def conv2d_transpose(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The transpose of a convolution, in groups of channels: a convolution of an image with gaps."""
    x, weights = inputs.one("Input"), inputs.one("Filter")
    layout, strides, dilations = _layout(attributes), attributes["strides"], _dilations(attributes)
    groups, sizes = attributes["groups"], weights.shape[2:]
    extents = [x.shape[layout.index(dim)] for dim in "HW"]
    windows = [(each - 1) * by + 1 for each, by in zip(sizes, dilations, strict=True)]
    paddings = _paddings(attributes, extents, windows, strides)
    wanted = attributes.get("output_size") or [0] * len(sizes)
    more = attributes.get("output_padding") or [0] * len(sizes)
    around = []
    for dim, (before, behind) in enumerate(paddings):
        least = (extents[dim] - 1) * strides[dim] + windows[dim] - before - behind
        extra = wanted[dim] - least if wanted[dim] else more[dim]
        around.append((windows[dim] - 1 - before, windows[dim] - 1 - behind + extra))
    parts = weights.reshape(groups, -1, *weights.shape[1:]).swapaxes(1, 2)
    kernel = jnp.flip(parts.reshape(-1, weights.shape[0] // groups, *sizes), (2, 3))
    found = lax.conv_general_dilated(
        x,
        kernel,
        [1] * len(sizes),
        around,
        lhs_dilation=strides,
        rhs_dilation=dilations,
        feature_group_count=groups,
        dimension_numbers=(layout, "OIHW", layout),
    )
    return {"Output": [found]}


@operator("pool2d")
def pool2d(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The largest element of each window, or the mean, of what is in the image alone if it is exclusive."""
    x, layout = inputs.one("X"), _layout(attributes)
    dims = [layout.index(dim) for dim in "HW"]
    extents = [x.shape[dim] for dim in dims]
    if attributes.get("adaptive"):
        return out(_adaptive(x, attributes, dims))
    is_global = attributes.get("global_pooling", False)
    windows = extents if is_global else list(attributes["ksize"])
    strides = [1, 1] if is_global else list(attributes["strides"])
    padding = [(0, 0), (0, 0)] if is_global else _paddings(attributes, extents, windows, strides)
    if attributes.get("ceil_mode"):
        padding = [_rounded_up(*each) for each in zip(padding, extents, windows, strides, strict=True)]
    window, stride, around = _of_all(x.ndim, dims, windows, strides, padding)
    if attributes["pooling_type"] == "max":
        return out(lax.reduce_window(x, -jnp.inf, lax.max, window, stride, around))
    total = lax.reduce_window(x, 0.0, lax.add, window, stride, around)
    if not attributes.get("exclusive", True):
        return out(total / math.prod(windows))
    ones = jnp.ones([x.shape[dim] if dim in dims else 1 for dim in range(x.ndim)], x.dtype)
    return out(total / lax.reduce_window(ones, 0.0, lax.add, window, stride, around))


@operator("max_pool2d_with_index")
def max_pool2d(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The largest element of each window, and its place in the image, flat."""
    x = inputs.one("X")
    made = pool2d(inputs, {**attributes, "pooling_type": "max"})
    return {**made, "Mask": [_places(x, made["Out"][0], attributes)]}


def _places(x: Any, found: Any, attributes: Attributes) -> Any:
    """Where the largest element of each window is: the first one in it."""
    extents, counts = x.shape[2:], found.shape[2:]
    begins, ends = [], []
    for dim, (extent, count) in enumerate(zip(extents, counts, strict=True)):
        index = np.arange(count)
        if attributes.get("adaptive"):
            begins.append(index * extent // count)
            ends.append(-(-(index + 1) * extent // count))
        elif attributes.get("global_pooling"):
            begins.append(0 * index)
            ends.append(0 * index + extent)
        else:
            first = index * attributes["strides"][dim] - attributes["paddings"][dim]
            begins.append(np.maximum(first, 0))
            ends.append(np.minimum(first + attributes["ksize"][dim], extent))
    inside = [
        (np.arange(extent) >= begin[:, None]) & (np.arange(extent) < end[:, None])
        for extent, begin, end in zip(extents, begins, ends, strict=True)
    ]
    window = inside[0][:, None, :, None] & inside[1][None, :, None, :]
    equal = window & (x[:, :, None, None] == found[..., None, None])
    return jnp.argmax(equal.reshape(*found.shape, -1), -1).astype(jnp.int32)


def _rounded_up(padding: tuple[int, int], extent: int, window: int, stride: int) -> tuple[int, int]:
    """With so much behind that the last window, which is cut, counts."""
    before, behind = padding
    windows = -(-(extent + before + behind - window) // stride) + 1
    return before, max(behind, (windows - 1) * stride + window - extent - before)


def _of_all(
    rank: int, dims: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Padding
) -> tuple[list[int], list[int], Padding]:
    """The same for all dimensions of a tensor."""
    window, stride, around = [1] * rank, [1] * rank, [(0, 0)] * rank
    for index, dim in enumerate(dims):
        window[dim], stride[dim], around[dim] = windows[index], strides[index], padding[index]
    return window, stride, around


def _adaptive(x: Any, attributes: Attributes, dims: Sequence[int]) -> Any:
    """Windows so large that there are as many as are asked for."""
    reduce = jnp.max if attributes["pooling_type"] == "max" else jnp.mean
    for dim, count in zip(dims, attributes["ksize"], strict=True):
        extent = x.shape[dim]
        ends = [(index * extent // count, -(-(index + 1) * extent // count)) for index in range(count)]
        parts = [reduce(lax.slice_in_dim(x, *each, axis=dim), axis=dim, keepdims=True) for each in ends]
        x = jnp.concatenate(parts, dim)
    return x
