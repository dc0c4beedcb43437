"""What programs are fed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError, UnsupportedError
from epl.fluid.installed import load
from epl.fluid.layers.registry import layer
from epl.places import calling_place

paddle = load()


@layer
def data(
    name: str,
    shape: Sequence[int | None],
    append_batch_size: bool = True,
    dtype: str = "float32",
    lod_level: int = 0,
    type: Any = None,
    stop_gradient: bool = True,
) -> Any:
    """A variable that is fed.

    Args:
      shape: of one sample, before which comes a batch of any extent; with None or a negative number in it, or
        without `append_batch_size`, the whole shape, in which these stand for any extent.
      type: a dense tensor; other types are not supported.

    Raises:
      ArgumentError: for a shape that is none.
      UnsupportedError: for tensors with LoD, and other types.
    """
    extents = shape_of("layers.data", shape)
    if append_batch_size and all(extent >= 0 for extent in extents):
        extents = [-1, *extents]
    dense = paddle.base.core.VarDesc.VarType.LOD_TENSOR
    if type not in (None, dense):
        raise UnsupportedError(
            f'layers.data: "{name}" has the type {type}, expected LOD_TENSOR', calling_place()
        )
    return fed("layers.data", name, extents, dtype, lod_level, stop_gradient, is_checked=False)


def fed(
    layer: str,
    name: str,
    shape: Sequence[int],
    dtype: str,
    lod_level: int,
    stop_gradient: bool,
    *,
    is_checked: bool,
) -> Any:
    """A variable that is fed.

    Args:
      shape: whole, -1 stands for any extent.
      is_checked: whether Paddle's executor compares the shape of what is fed.

    Raises:
      UnsupportedError: for tensors with LoD.
    """
    if lod_level:
        raise UnsupportedError(
            f'{layer}: "{name}" has lod_level {lod_level}, but sequences of varying lengths (LoD) are not '
            "supported: pad them to one length",
            calling_place(),
        )
    helper = paddle.base.layer_helper.LayerHelper("data", name=name)
    return helper.create_global_variable(
        name=name,
        shape=list(shape),
        dtype=dtype,
        type=paddle.base.core.VarDesc.VarType.LOD_TENSOR,
        stop_gradient=stop_gradient,
        lod_level=0,
        is_data=True,
        need_check_feed=is_checked,
    )


def shape_of(layer: str, shape: Any) -> list[int]:
    """A shape in which -1 stands for any extent.

    Raises:
      ArgumentError: for what is none.
    """
    if not isinstance(shape, (list, tuple)) or any(
        extent is not None and (isinstance(extent, bool) or not isinstance(extent, int)) for extent in shape
    ):
        raise ArgumentError(f"{layer}: expected a list of integers as shape, found {shape!r}")
    return [-1 if extent is None else extent for extent in shape]
