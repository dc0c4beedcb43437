"""What `epl.fluid` itself has beside `layers`: other meanings of a few names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.fluid.installed import load
from epl.fluid.layers.io import fed, shape_of
from epl.fluid.layers.nn import hot, rows_of

paddle = load()


def data(name: str, shape: Sequence[int | None], dtype: str = "float32", lod_level: int = 0) -> Any:
    """A variable that is fed, of this whole shape, in which None and -1 stand for any extent.

    Raises:
      ArgumentError: for a shape that is none.
      UnsupportedError: for tensors with LoD.
    """
    return fed("fluid.data", name, shape_of("fluid.data", shape), dtype, lod_level, True, is_checked=True)


def embedding(
    input: Any,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: str = "float32",
) -> Any:
    """Rows of a table by numbers of any shape; arguments as of `layers.embedding`."""
    return rows_of("lookup_table_v2", input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """A row of `depth` elements with a one for each number, behind the dimensions of these."""
    return hot(input, depth, allow_out_of_range)
