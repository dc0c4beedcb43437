"""Images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


def _axes(inputs: Inputs, attributes: Attributes) -> tuple[Any, list[tuple[int, int, float]]]:
    """An image, and its two dimensions: which they are, their new extents, and old pixels for a new one."""
    x = inputs.one("X")
    first = 2 if attributes.get("data_layout", "NCHW") == "NCHW" else 1
    scales: Sequence[float] = attributes.get("scale") or ()
    scales = list(scales) * 2 if len(scales) == 1 else scales
    found = []
    for index, name in enumerate(("out_h", "out_w")):
        old = x.shape[first + index]
        scale = scales[index] if scales else 0.0
        new = int(old * scale) if scale > 0 else attributes[name]
        ratio = 1 / scale if scale > 0 else old / new
        if attributes["align_corners"]:
            ratio = (old - 1) / (new - 1) if new > 1 else 0.0
        found.append((first + index, new, ratio))
    return x, found


@operator("nearest_interp_v2")
def nearest(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The nearest pixel, or the one before."""
    x, axes = _axes(inputs, attributes)
    for dim, count, ratio in axes:
        places = ratio * np.arange(count) + (0.5 if attributes["align_corners"] else 0)
        x = jnp.take(x, np.minimum(places.astype(np.int32), x.shape[dim] - 1), axis=dim, mode="clip")
    return out(x)


@operator("bilinear_interp_v2")
def bilinear(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Straight lines between pixels."""
    x, axes = _axes(inputs, attributes)
    centers = not attributes["align_corners"] and attributes["align_mode"] == 0
    for dim, count, ratio in axes:
        places = ratio * (np.arange(count) + 0.5) - 0.5 if centers else ratio * np.arange(count)
        weights = _weights(np.maximum(places, 0), x.shape[dim]).astype(x.dtype)
        x = jnp.moveaxis(jnp.moveaxis(x, dim, -1) @ weights, -1, dim)
    return out(x)


def _weights(places: Any, extent: int) -> Any:
    """A matrix of what each new pixel has of each old one: [old, new]."""
    before = np.minimum(places.astype(np.int32), extent - 1)
    share = places - before
    found = np.zeros((extent, len(places)))
    np.add.at(found, (before, np.arange(len(places))), 1 - share)
    np.add.at(found, (np.minimum(before + 1, extent - 1), np.arange(len(places))), share)
    return found
