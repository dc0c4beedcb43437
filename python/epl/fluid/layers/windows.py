"""Pooling and resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder
from epl.fluid.layers.registry import layer

_POOLS = ("max", "avg")
_RESAMPLES = {"BILINEAR": "bilinear", "NEAREST": "nearest"}


@layer
def pool2d(
    input: Any,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Any:
    """The largest element of each window of an image, or the mean.

    Args:
      pool_padding: one number, one for each dimension, two for each, or "SAME" or "VALID".
      exclusive: whether a mean is over what is in the image alone.
    """
    builder = _pool("pool2d", name, pool_type, data_format)
    if not global_pooling and pool_size == -1:
        raise ArgumentError("layers.pool2d: expected a pool_size, or global_pooling, found neither")
    paddings, algorithm = _paddings(builder, pool_padding, data_format)
    told = {
        "pooling_type": pool_type,
        "ksize": builder.numbers("pool_size", pool_size, 2),
        "global_pooling": global_pooling,
        "strides": builder.numbers("pool_stride", pool_stride, 2),
        "paddings": paddings,
        "padding_algorithm": algorithm,
        "use_cudnn": use_cudnn,
        "ceil_mode": ceil_mode,
        "exclusive": exclusive,
        "data_format": data_format,
    }
    return builder.op("pool2d", {"X": input}, told)


def _pool(layer: str, name: str | None, pool_type: str, data_format: str) -> Builder:
    for argument, value, known in (
        ("pool_type", pool_type, _POOLS),
        ("data_format", data_format, ("NCHW", "NHWC")),
    ):
        if value not in known:
            raise ArgumentError(f"layers.{layer}: expected a {argument} of {known}, found {value!r}")
    return Builder(layer, name)


def _paddings(builder: Builder, padding: Any, data_format: str) -> tuple[list[int], str]:
    """The numbers, and how Paddle is to find them."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ArgumentError(
                f'layers.{builder.layer}: expected "SAME", "VALID" or numbers, found {padding!r}'
            )
        return [0, 0], padding.upper()
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        first = 2 if data_format == "NCHW" else 1
        padding = [number for pair in padding[first : first + 2] for number in pair]
    count = len(padding) if isinstance(padding, (list, tuple)) else 2
    return builder.numbers("pool_padding", padding, 4 if count == 4 else 2), "EXPLICIT"


@layer
def adaptive_pool2d(
    input: Any, pool_size: Any, pool_type: str = "max", require_index: bool = False, name: str | None = None
) -> Any:
    """As many windows as `pool_size` says, of an image in NCHW."""
    builder = _pool("adaptive_pool2d", name, pool_type, "NCHW")
    if require_index:
        raise builder.unsupported("require_index")
    size = builder.numbers("pool_size", pool_size, 2)
    told = {"ksize": size, "adaptive": True, "strides": [1, 1], "paddings": [0, 0]}
    if pool_type == "max":
        return builder.op("max_pool2d_with_index", {"X": input}, told, others={"Mask": "int32"})
    return builder.op("pool2d", {"X": input}, {**told, "pooling_type": "avg"})


@layer
def image_resize(
    input: Any,
    out_shape: Sequence[int] | None = None,
    scale: float | None = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Any:
    """An image of another size: `out_shape` of [height, width], or `scale` times as large.

    Args:
      align_corners: whether corner pixels stay where they are.
      align_mode: 0: pixels are squares, whose centers are looked up; 1: points.
    """
    builder = Builder("image_resize", name)
    if resample not in _RESAMPLES:
        raise ArgumentError(
            f"layers.image_resize: expected a resample of {tuple(_RESAMPLES)}, found {resample!r}"
        )
    if actual_shape is not None:
        raise builder.unsupported("actual_shape")
    if (out_shape is None) == (scale is None):
        raise ArgumentError("layers.image_resize: expected either out_shape or scale")
    size = [0, 0] if out_shape is None else builder.numbers("out_shape", out_shape, 2)
    method = _RESAMPLES[resample]
    told = {
        "out_h": size[0],
        "out_w": size[1],
        "scale": [float(scale)] * 2 if scale is not None else [],
        "interp_method": method,
        "align_corners": align_corners,
        "align_mode": align_mode,
        "data_layout": data_format,
    }
    return builder.op(f"{method}_interp_v2", {"X": input}, told)


@layer
def resize_bilinear(
    input: Any,
    out_shape: Sequence[int] | None = None,
    scale: float | None = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Any:
    """`image_resize` by straight lines between pixels."""
    return image_resize(
        input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode, data_format
    )


@layer
def resize_nearest(
    input: Any,
    out_shape: Sequence[int] | None = None,
    scale: float | None = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    data_format: str = "NCHW",
) -> Any:
    """`image_resize` to the nearest pixel."""
    return image_resize(input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format)


@layer
def lrn(
    input: Any,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Local response normalization, over `n` channels."""
    told = {"n": n, "k": k, "alpha": alpha, "beta": beta, "data_format": data_format}
    builder = Builder("lrn", name)
    return builder.op("lrn", {"X": input}, told, others={"MidOut": input.dtype})


@layer
def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Channels as pixels of a larger image in NCHW."""
    told = {"upscale_factor": upscale_factor}
    return Builder("pixel_shuffle").op("pixel_shuffle", {"X": x}, told)


@layer
def shuffle_channel(x: Any, group: int, name: str | None = None) -> Any:
    """Channels of groups in turn."""
    return Builder("shuffle_channel", name).op("shuffle_channel", {"X": x}, {"group": group})


@layer
def affine_channel(
    x: Any,
    scale: Any = None,
    bias: Any = None,
    data_layout: str = "NCHW",
    name: str | None = None,
    act: str | None = None,
) -> Any:
    """Each channel times a number, plus one."""
    builder = Builder("affine_channel", name, act=act)
    inputs = {"X": x, "Scale": scale, "Bias": bias}
    return builder.activation(builder.op("affine_channel", inputs, {"data_layout": data_layout}))
