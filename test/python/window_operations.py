"""Convolutions and pooling with their gradients, each on images made of a matrix of 8 x 6."""

from __future__ import annotations

import functools
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp
import numpy as np

from dense_operations import Operation


def image(x: jax.Array, *shape: int) -> jax.Array:
    """Images of that shape, one for each row."""
    phases = jnp.arange(1.0, 1 + np.prod(shape)) / 7
    return jnp.abs(x[:, :1] * jnp.cos(phases) + x[:, 1:2] * jnp.sin(3 * phases)).reshape(-1, *shape)


def convolution(
    image_shape: tuple[int, ...],
    kernel_shape: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Any,
    layout: tuple[str, str, str] = ("NHWC", "HWIO", "NHWC"),
    **options: Any,
) -> Operation:
    """A convolution of images with a constant kernel, and the gradients of both."""

    def operation(x: jax.Array) -> Any:
        kernel = jnp.cos(jnp.arange(1.0, 1 + np.prod(kernel_shape)) / 3).reshape(kernel_shape) ** 2
        convolve = functools.partial(
            jax.lax.conv_general_dilated,
            window_strides=strides,
            padding=padding,
            dimension_numbers=layout,
            **options,
        )
        gradients = jax.grad(lambda *operands: (convolve(*operands) ** 2).sum(), (0, 1))
        operands = (image(x, *image_shape), kernel)
        return convolve(*operands), gradients(*operands)

    return operation


def transposed_convolution(x: jax.Array) -> Any:
    """As decoders have it, with its gradients."""
    kernel = jnp.cos(jnp.arange(36.0)).reshape(3, 3, 2, 2)

    def upsample(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_transpose(x, kernel, (2, 2), "SAME")

    operands = (image(x, 4, 3, 2), kernel)
    return upsample(*operands), jax.grad(lambda *o: (upsample(*o) ** 2).sum(), (0, 1))(*operands)


def positions(
    window: tuple[int, int], strides: tuple[int, int], padding: Any, dilation: tuple[int, int] = (1, 1)
) -> Operation:
    """Max pooling that says where the largest elements stand: a reduction of two operands."""

    def larger(left: Any, right: Any) -> Any:
        stays = (left[0] > right[0]) | ((left[0] == right[0]) & (left[1] <= right[1]))
        return jnp.where(stays, left[0], right[0]), jnp.where(stays, left[1], right[1])

    def operation(x: jax.Array) -> Any:
        images = jnp.round(8 * image(x, 6, 5))  # with equal elements
        places = jnp.broadcast_to(jnp.arange(30, dtype=jnp.int32).reshape(6, 5), images.shape)
        first = (jnp.float32(-jnp.inf), jnp.int32(1000))
        pads = padding if isinstance(padding, str) else ((0, 0), *padding)
        sizes = (1, *window), (1, *strides), pads
        return jax.lax.reduce_window((images, places), first, larger, *sizes, window_dilation=(1, *dilation))

    return operation


def several_sums(x: jax.Array) -> Any:
    """A reduction of three operands whose initial values count."""
    images = image(x, 6)
    add = lambda left, right: (left[0] + right[0], left[1] * right[1], jnp.maximum(left[2], right[2]))  # noqa: E731
    initial = (jnp.float32(3), jnp.float32(0.5), jnp.float32(0.25))
    return jax.lax.reduce_window((images, images + 1, images), initial, add, (1, 3), (1, 1), "VALID")


def pooling(kind: str, window: tuple[int, int], strides: tuple[int, int], padding: Any) -> Operation:
    """Pooling of images as flax does it, with its gradient."""

    def pool(x: jax.Array) -> jax.Array:
        pools = {"max": flax.linen.max_pool, "avg": flax.linen.avg_pool}
        return pools[kind](x, window, strides, padding)

    def operation(x: jax.Array) -> Any:
        images = image(x, 6, 5, 3)
        return pool(images), jax.grad(lambda images: (pool(images) ** 2).sum())(images)

    return operation


GROUPS: dict[str, dict[str, Operation]] = {
    "convolutions": {
        "same": convolution((6, 5, 3), (3, 3, 3, 4), (1, 1), "SAME"),
        "valid": convolution((6, 5, 3), (3, 3, 3, 4), (1, 1), "VALID"),
        "one channel": convolution((6, 5, 1), (3, 3, 1, 4), (1, 1), "SAME"),
        "pointwise": convolution((6, 5, 3), (1, 1, 3, 4), (1, 1), "VALID"),
        "patches": convolution((6, 4, 3), (2, 2, 3, 4), (2, 2), "VALID"),
        "strided": convolution((7, 6, 3), (3, 3, 3, 4), (2, 2), "SAME"),
        "uneven strides": convolution((7, 6, 3), (3, 2, 3, 4), (3, 2), "VALID"),
        "dilated": convolution((7, 6, 3), (3, 2, 3, 4), (1, 1), "SAME", rhs_dilation=(2, 3)),
        "uneven padding": convolution((6, 5, 3), (3, 3, 3, 4), (1, 2), ((2, 0), (1, 3))),
        "image dilated": convolution((4, 3, 3), (3, 3, 3, 4), (1, 1), ((1, 1), (2, 0)), lhs_dilation=(2, 3)),
        "transposed": transposed_convolution,
        "even kernel": convolution((6, 5, 3), (4, 2, 3, 4), (1, 1), "SAME"),
    },
    "convolutions of other layouts": {
        "channels first": convolution((3, 6, 5), (4, 3, 3, 3), (1, 1), "SAME", ("NCHW", "OIHW", "NCHW")),
        "channels first, strided": convolution(
            (3, 6, 5), (4, 3, 2, 3), (2, 1), "SAME", ("NCHW", "OIHW", "NCHW")
        ),
        "channels last, kernel not": convolution(
            (6, 5, 3), (4, 3, 3, 3), (1, 1), "SAME", ("NHWC", "OIHW", "NHWC")
        ),
        "groups": convolution((6, 5, 4), (3, 3, 2, 6), (1, 1), "SAME", feature_group_count=2),
        "depthwise": convolution((6, 5, 4), (3, 3, 1, 4), (1, 1), "SAME", feature_group_count=4),
        "depthwise, multiplied": convolution((6, 5, 4), (3, 3, 1, 8), (2, 2), "SAME", feature_group_count=4),
        "groups, channels first": convolution(
            (4, 6, 5), (6, 2, 3, 3), (1, 1), "SAME", ("NCHW", "OIHW", "NCHW"), feature_group_count=2
        ),
        "line": convolution((9, 3), (3, 3, 4), (2,), "SAME", ("NWC", "WIO", "NWC")),
        "line, causal": convolution(
            (9, 3), (3, 3, 4), (1,), ((4, 0),), ("NWC", "WIO", "NWC"), rhs_dilation=(2,)
        ),
        "volume": convolution((4, 3, 5, 2), (2, 3, 3, 2, 4), (1, 1, 2), "SAME", ("NDHWC", "DHWIO", "NDHWC")),
    },
    "strided convolutions": {
        "patches that leave a rest": convolution((7, 8, 3), (3, 3, 3, 4), (3, 3), "VALID"),
        "stride beyond the kernel": convolution((8, 7, 3), (2, 2, 3, 4), (3, 3), "SAME"),
        "stride beyond the image": convolution((5, 4, 3), (3, 3, 3, 4), (7, 5), "SAME"),
        "pointwise": convolution((5, 4, 6), (1, 1, 6, 4), (2, 2), "VALID"),
        "padding beyond the kernel": convolution((5, 6, 3), (1, 2, 3, 4), (2, 3), ((2, 1), (3, 2))),
        "uneven padding": convolution((9, 6, 3), (5, 3, 3, 4), (2, 3), ((4, 0), (0, 3))),
        "dilated": convolution((9, 8, 3), (3, 3, 3, 4), (2, 3), "SAME", rhs_dilation=(2, 2)),
        "image dilated": convolution((4, 5, 3), (3, 2, 3, 4), (2, 3), ((2, 1), (0, 2)), lhs_dilation=(3, 2)),
        "groups": convolution((7, 6, 4), (3, 3, 2, 6), (2, 2), "SAME", feature_group_count=2),
        "groups, dilated": convolution(
            (9, 6, 4), (3, 2, 2, 6), (2, 2), "SAME", feature_group_count=2, rhs_dilation=(2, 1)
        ),
        "depthwise": convolution((7, 6, 4), (3, 3, 1, 4), (3, 2), "SAME", feature_group_count=4),
        "channels first": convolution((3, 7, 6), (4, 3, 3, 3), (2, 2), "SAME", ("NCHW", "OIHW", "NCHW")),
        "channels first, patches": convolution(
            (3, 6, 4), (4, 3, 3, 2), (3, 2), "VALID", ("NCHW", "OIHW", "NCHW")
        ),
        "line": convolution((10, 3), (4, 3, 5), (3,), "VALID", ("NWC", "WIO", "NWC")),
        "volume": convolution((4, 5, 3, 2), (2, 3, 3, 2, 4), (2, 2, 2), "SAME", ("NDHWC", "DHWIO", "NDHWC")),
    },
    "pooling": {
        "max": pooling("max", (2, 2), (2, 2), "VALID"),
        "max, overlapping": pooling("max", (3, 3), (2, 2), "SAME"),
        "max, padded": pooling("max", (3, 2), (1, 2), ((1, 1), (0, 1))),
        "positions": positions((2, 2), (2, 2), "VALID"),
        "positions, overlapping": positions((3, 3), (2, 2), "SAME"),
        "positions, dilated": positions((2, 2), (1, 2), ((1, 0), (0, 1)), (2, 1)),
        "several sums": several_sums,
        "average": pooling("avg", (2, 2), (2, 2), "VALID"),
        "average, overlapping": pooling("avg", (3, 3), (2, 2), "SAME"),
        "average, padded": pooling("avg", (3, 2), (1, 2), ((1, 1), (0, 1))),
        "global": lambda x: jax.grad(lambda x: (image(x, 6, 5, 3).mean((1, 2)) ** 2).sum())(x),
    },
}
