"""Other shapes and orders of the same elements, and parts of tensors."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out, reshaping


@operator("reshape", "reshape2")
def reshape(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Another shape, in which 0 stands for the extent there was, -1 for what is left."""
    x = inputs.one("X")
    shape = [x.shape[dim] if extent == 0 else extent for dim, extent in enumerate(attributes["shape"])]
    return reshaping(x.reshape(shape), x)


@operator("flatten_contiguous_range")
def flatten_range(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Neighbouring dimensions as one."""
    x = inputs.one("X")
    begin, end = (attributes[name] % max(x.ndim, 1) for name in ("start_axis", "stop_axis"))
    return reshaping(x.reshape((*x.shape[:begin], -1, *x.shape[end + 1 :])), x)


@operator("flatten2")
def flatten(inputs: Inputs, attributes: Attributes) -> Outputs:
    """A matrix: dimensions before an axis, and those from it on."""
    x = inputs.one("X")
    return reshaping(x.reshape(math.prod(x.shape[: attributes["axis"]]), -1), x)


@operator("squeeze2")
def squeeze(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Without dimensions of one element: those that are named and have one, else all."""
    x = inputs.one("X")
    axes = [axis % x.ndim for axis in attributes["axes"]] or range(x.ndim)
    return reshaping(jnp.squeeze(x, tuple(axis for axis in axes if x.shape[axis] == 1)), x)


@operator("unsqueeze2")
def unsqueeze(inputs: Inputs, attributes: Attributes) -> Outputs:
    """With dimensions of one element, put in one after the other."""
    x = found = inputs.one("X")
    for axis in attributes["axes"]:
        found = jnp.expand_dims(found, axis)
    return reshaping(found, x)


@operator("transpose", "transpose2")
def transpose(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Dimensions in another order."""
    x = inputs.one("X")
    return reshaping(jnp.transpose(x, attributes["axis"]), x)


@operator("concat")
def concat(inputs: Inputs, attributes: Attributes) -> Outputs:
    """One behind the other along a dimension."""
    return out(jnp.concatenate(inputs["X"], attributes["axis"]))


@operator("split")
def split(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Parts along a dimension: so many equal ones, or of these extents, of which one may be -1."""
    x, axis, sections = inputs.one("X"), attributes["axis"], list(attributes.get("sections", ()))
    if not sections:
        return {"Out": jnp.split(x, attributes["num"], axis)}
    if -1 in sections:
        sections[sections.index(-1)] = x.shape[axis] - sum(each for each in sections if each != -1)
    ends = [sum(sections[: index + 1]) for index in range(len(sections) - 1)]
    return {"Out": jnp.split(x, ends, axis)}


@operator("stack")
def stack(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Tensors of one shape along a new dimension."""
    return {"Y": [jnp.stack(inputs["X"], attributes["axis"])]}


@operator("unstack")
def unstack(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The other way."""
    return {"Y": list(jnp.moveaxis(inputs.one("X"), attributes["axis"], 0))}


@operator("slice")
def slice_(inputs: Inputs, attributes: Attributes) -> Outputs:
    """From begin to end along some dimensions, of which some are dropped then."""
    x = inputs.one("Input")
    ranges = [slice(None)] * x.ndim
    for axis, begin, end in zip(attributes["axes"], attributes["starts"], attributes["ends"], strict=True):
        ranges[axis] = slice(*slice(begin, end).indices(x.shape[axis]))
    found = x[tuple(ranges)]
    return out(jnp.squeeze(found, tuple(attributes.get("decrease_axis", ()))))


@operator("strided_slice")
def strided_slice(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same, each so many elements behind the last, or before it."""
    x = inputs.one("Input")
    ranges = [slice(None)] * x.ndim
    places = (attributes[name] for name in ("axes", "starts", "ends", "strides"))
    for axis, begin, end, stride in zip(*places, strict=True):
        ranges[axis] = slice(begin, end, stride)
    return out(jnp.squeeze(x[tuple(ranges)], tuple(attributes.get("decrease_axis", ()))))


@operator("expand_v2")
def expand(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Repeated along dimensions of one element; -1: as it is."""
    x, shape = inputs.one("X"), attributes["shape"]
    own = (1,) * (len(shape) - x.ndim) + x.shape
    return out(jnp.broadcast_to(x, [old if new == -1 else new for old, new in zip(own, shape, strict=True)]))


@operator("expand_as_v2")
def expand_as(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same, to a shape."""
    return out(jnp.broadcast_to(inputs.one("X"), tuple(attributes["target_shape"])))


@operator("tile", "expand")
def tile(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Repeated whole; Fluid's expand is that, too."""
    times = attributes.get("repeat_times") or attributes["expand_times"]
    return out(jnp.tile(inputs.one("X"), times))


@operator("flip", "reverse")
def flip(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The other way round along dimensions."""
    return out(jnp.flip(inputs.one("X"), tuple(attributes["axis"])))


@operator("pad")
def pad(inputs: Inputs, attributes: Attributes) -> Outputs:
    """With a number around it: before and behind, dimension by dimension."""
    x, paddings = inputs.one("X"), attributes["paddings"]
    around = [(before, behind, 0) for before, behind in zip(paddings[::2], paddings[1::2], strict=True)]
    return out(lax.pad(x, jnp.asarray(attributes["pad_value"], x.dtype), around))


_PAD_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@operator("pad3d")
def pad3d(inputs: Inputs, attributes: Attributes) -> Outputs:
    """With a frame around volumes, given from the last dimension on: a number, or what is inside again."""
    x, given, mode = inputs.one("X"), attributes["paddings"], attributes.get("mode", "constant")
    around = [(0, 0)] * 5
    first = 2 if attributes.get("data_format", "NCDHW") == "NCDHW" else 1
    around[first : first + 3] = list(zip(given[::2], given[1::2], strict=True))[::-1]
    if mode == "constant":
        return out(jnp.pad(x, around, constant_values=attributes.get("value", 0.0)))
    for dim, own in enumerate(around):
        if own != (0, 0):
            places = np.pad(np.arange(x.shape[dim]), own, mode=_PAD_MODES[mode])  # type: ignore[call-overload]
            x = jnp.take(x, places, axis=dim, mode="clip")
    return out(x)


@operator("pixel_shuffle")
def pixel_shuffle(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Channels of an image as pixels of a larger one."""
    x, factor = inputs.one("X"), attributes["upscale_factor"]
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, channels // factor**2, factor, factor, height, width)
    return out(parts.transpose(0, 1, 4, 2, 5, 3).reshape(batch, -1, height * factor, width * factor))


@operator("shuffle_channel")
def shuffle_channel(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Channels of groups in turn."""
    x, groups = inputs.one("X"), attributes["group"]
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    return out(jnp.swapaxes(parts, 1, 2).reshape(x.shape))


@operator("size")
def size(inputs: Inputs, _: Attributes) -> Outputs:
    """How many elements there are."""
    count = inputs.extent("Input", *range(inputs.one("Input").ndim))
    return out(jnp.asarray(count) if inputs.is_padded("Input") else np.asarray(count, np.int32))


@operator("shape")
def shape(inputs: Inputs, _: Attributes) -> Outputs:
    """The extents."""
    extents = [inputs.extent("Input", dim) for dim in range(inputs.one("Input").ndim)]
    return out(jnp.stack(extents) if inputs.is_padded("Input") else np.asarray(extents, np.int32))
