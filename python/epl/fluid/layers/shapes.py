"""Layers that give the same elements another shape or order, or parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, Variable
from epl.fluid.layers.registry import layer


def _shaped(layer: str, x: Any, told: dict[str, Any], name: str | None, act: str | None = None) -> Any:
    """What an op makes that keeps the shape there was."""
    builder = Builder(layer, name, act=act)
    dtype = getattr(x, "dtype", "float32")
    return builder.activation(builder.op(f"{layer}2", {"X": x}, told, others={"XShape": dtype}))


@layer
def reshape(
    x: Any,
    shape: Sequence[int],
    actual_shape: Any = None,
    act: str | None = None,
    inplace: bool = False,
    name: str | None = None,
) -> Any:
    """Another shape, in which 0 stands for the extent there was, -1 for what is left.

    Args:
      inplace: has no effect on what is computed.
    """
    del inplace
    builder = Builder("reshape", name)
    if actual_shape is not None:
        raise builder.unsupported("actual_shape")
    return _shaped("reshape", x, {"shape": builder.numbers("shape", shape)}, name, act)


@layer
def squeeze(input: Any, axes: Sequence[int], name: str | None = None) -> Any:
    """Without dimensions of one element; `axes` of none: without all of these."""
    return _shaped("squeeze", input, {"axes": Builder("squeeze", name).numbers("axes", axes)}, name)


@layer
def unsqueeze(input: Any, axes: Any, name: str | None = None) -> Any:
    """With dimensions of one element, put in one after the other."""
    return _shaped("unsqueeze", input, {"axes": Builder("unsqueeze", name).numbers("axes", axes)}, name)


@layer
def transpose(x: Any, perm: Sequence[int], name: str | None = None) -> Any:
    """Dimensions in another order."""
    return _shaped("transpose", x, {"axis": Builder("transpose", name).numbers("perm", perm)}, name)


@layer
def flatten(x: Any, axis: int = 1, name: str | None = None) -> Any:
    """A matrix: dimensions before an axis, and those from it on."""
    return _shaped("flatten", x, {"axis": axis}, name)


@layer
def concat(input: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """One behind the other along a dimension."""
    builder = Builder("concat", name)
    if isinstance(axis, Variable):
        raise builder.unsupported("a Variable as axis")
    return builder.op("concat", {"X": list(input)}, {"axis": axis})


@layer
def split(input: Any, num_or_sections: Any, dim: int = -1, name: str | None = None) -> list[Any]:
    """Parts along a dimension: so many equal ones, or of these extents, of which one may be -1."""
    builder = Builder("split", name)
    if isinstance(dim, Variable):
        raise builder.unsupported("a Variable as dim")
    axis = dim % len(input.shape)
    told: dict[str, Any] = {"axis": axis, "num": 0, "sections": []}
    if isinstance(num_or_sections, int):
        told["num"] = count = num_or_sections
    else:
        told["sections"] = builder.numbers("num_or_sections", num_or_sections)
        count = len(told["sections"])
    extent = input.shape[axis]
    if told["num"] and extent % count:
        raise ArgumentError(f"layers.split: dimension {axis} of extent {extent} in {count} equal parts")
    parts = [builder.variable(input.dtype) for _ in range(count)]
    builder.append("split", {"X": [input]}, {"Out": parts}, told)
    return parts


@layer
def stack(x: Any, axis: int = 0) -> Any:
    """Tensors of one shape along a new dimension."""
    return Builder("stack").op("stack", {"X": x}, {"axis": axis}, output="Y")


@layer
def unstack(x: Any, axis: int = 0, num: int | None = None) -> list[Any]:
    """The parts of one element along a dimension, without it."""
    builder = Builder("unstack")
    count = x.shape[axis] if num is None else num
    parts = [builder.variable(x.dtype) for _ in range(count)]
    builder.append("unstack", {"X": [x]}, {"Y": parts}, {"axis": axis, "num": count})
    return parts


@layer
def slice_(input: Any, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> Any:
    """From begin to end along some dimensions; negative numbers count from behind."""
    builder = Builder("slice")
    told = {name: builder.numbers(name, each) for name, each in _ranges(axes, starts, ends).items()}
    return builder.op("slice", {"Input": input}, told)


@layer
def strided_slice(
    input: Any, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], strides: Sequence[int]
) -> Any:
    """The same, each so many elements behind the last."""
    builder = Builder("strided_slice")
    given = {**_ranges(axes, starts, ends), "strides": strides}
    told = {name: builder.numbers(name, each) for name, each in given.items()}
    return builder.op("strided_slice", {"Input": input}, {**told, "infer_flags": [1] * len(told["axes"])})


def _ranges(axes: Any, starts: Any, ends: Any) -> dict[str, Any]:
    return {"axes": axes, "starts": starts, "ends": ends}


@layer
def expand(x: Any, expand_times: Sequence[int], name: str | None = None) -> Any:
    """Repeated whole, so many times along each dimension."""
    builder = Builder("expand", name)
    times = builder.numbers("expand_times", expand_times, len(x.shape))
    return builder.op("expand", {"X": x}, {"expand_times": times})


@layer
def expand_as(x: Any, target_tensor: Any, name: str | None = None) -> Any:
    """Repeated whole to the shape of another tensor, whose extents are multiples."""
    pairs = list(zip(x.shape, target_tensor.shape, strict=False))
    if len(x.shape) != len(target_tensor.shape) or any(
        old != new and (old < 1 or new < 1 or new % old) for old, new in pairs
    ):
        raise ArgumentError(
            f"layers.expand_as: expected a target whose shape has multiples of {list(x.shape)}, found "
            f"{list(target_tensor.shape)}"
        )
    return expand(x, [1 if old == new else new // old for old, new in pairs], name)


@layer
def reverse(x: Any, axis: Any) -> Any:
    """The other way round along dimensions."""
    builder = Builder("reverse")
    return builder.op("reverse", {"X": x}, {"axis": builder.numbers("axis", axis)})


@layer
def pad(x: Any, paddings: Sequence[int], pad_value: float = 0.0, name: str | None = None) -> Any:
    """With a number around it: before and behind, dimension by dimension."""
    builder = Builder("pad", name)
    told = {
        "paddings": builder.numbers("paddings", paddings, 2 * len(x.shape)),
        "pad_value": float(pad_value),
    }
    return builder.op("pad", {"X": x}, told)


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}


@layer
def pad2d(
    input: Any,
    paddings: Sequence[int] = (0, 0, 0, 0),
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """With a frame around images: above, below, left, right; a number, or what is inside again."""
    builder = Builder("pad2d", name)
    if mode not in _PAD_MODES:
        raise ArgumentError(f"layers.pad2d: expected a mode of {tuple(_PAD_MODES)}, found {mode!r}")
    above, below, left, right = builder.numbers("paddings", paddings, 4)
    # Paddle 2.6 has no kernel of Fluid's op: images are volumes of one layer there.
    depth = 2 if data_format == "NCHW" else 1
    told = {
        "paddings": [left, right, above, below, 0, 0],
        "mode": _PAD_MODES[mode],
        "value": float(pad_value),
        "data_format": "NCDHW" if data_format == "NCHW" else "NDHWC",
    }
    return squeeze(builder.op("pad3d", {"X": unsqueeze(input, [depth])}, told), [depth])


@layer
def gather(input: Any, index: Any, overwrite: bool = True) -> Any:
    """Rows by number."""
    return Builder("gather").op("gather", {"X": input, "Index": index}, {"overwrite": overwrite})


@layer
def gather_nd(input: Any, index: Any, name: str | None = None) -> Any:
    """Parts by several numbers each."""
    return Builder("gather_nd", name).op("gather_nd", {"X": input, "Index": index})


@layer
def scatter(input: Any, index: Any, updates: Any, name: str | None = None, overwrite: bool = True) -> Any:
    """Rows of `input`, those of some numbers replaced, or what replaces them added up."""
    inputs = {"X": input, "Ids": index, "Updates": updates}
    return Builder("scatter", name).op("scatter", inputs, {"overwrite": overwrite})


@layer
def multiplex(inputs: Sequence[Any], index: Any) -> Any:
    """Each row of the one among several tensors that has its number."""
    return Builder("multiplex").op("multiplex", {"X": list(inputs), "Ids": index})
