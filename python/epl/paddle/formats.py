"""Formats and versions of programs: which ones are read.

    Paddle           | writes                             | version of the program
    -----------------+------------------------------------+------------------------------------------
    0.x to 1.5       | ProgramDesc                        | 0; builds of no release have it later too
    1.6 to 2.6       | ProgramDesc                        | 1000000 major + 1000 minor + patch
    3, by default    | PIR, in JSON                       | its own: not read
    3, with          | ProgramDesc; numbers of attributes | as 2.6
    enable_pir_api=0 | may be Scalars                     |

From 2.0 on a program has the versions of ops, too, of those that got an attribute or another meaning. Paddle
2.6 runs what was written before as its own, whatever these are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from epl.errors import Error, UnsupportedError
from epl.paddle import schema
from epl.paddle.description import Op, text

_MAJOR, _MINOR = 1_000_000, 1_000
_NEWEST_MAJOR = 3
_AFTER_3_0 = 3_001_000
_REMEDY = "programs of Paddle 3 are read if they are saved with FLAGS_enable_pir_api=0"

_CHANGED_ONCE = [
    "affine_grid", "argsort", "assign_value", "auc", "clip", "collect_fpn_proposals", "conv2d", "conv3d",
    "conv3d_transpose", "cudnn_lstm", "cumprod", "cumsum", "data_norm", "depthwise_conv2d",
    "depthwise_conv2d_transpose", "dequantize", "elementwise_add", "elementwise_div", "elementwise_mul",
    "elementwise_pow", "elementwise_sub", "equal", "fake_channel_wise_quantize_abs_max", "flip", "gather",
    "generate_proposals_v2", "greater_equal", "greater_than", "grid_sampler", "hard_shrink", "histogram",
    "instance_norm", "kldiv_loss", "lamb", "leaky_relu", "less_equal", "less_than", "linspace",
    "lookup_table", "lookup_table_v2", "lstsq", "matmul", "matrix_nms", "max_pool2d_with_index",
    "max_pool3d_with_index", "mish", "momentum", "not_equal", "p_norm", "pixel_shuffle", "print",
    "rank_attention", "requantize", "round", "seed", "softplus", "thresholded_relu", "trace",
    "truncated_gaussian_random", "unique_consecutive", "yolo_box",
]  # fmt: skip
_CHANGED_TWICE = [
    "allclose", "conv2d_transpose", "distribute_fpn_proposals", "fake_channel_wise_dequantize_max_abs",
    "fill_constant", "generate_proposal_labels", "generate_proposals", "moving_average_abs_max_scale",
    "quantize", "roi_pool", "roll",
]  # fmt: skip
_NEWEST = {
    **dict.fromkeys(_CHANGED_ONCE, 1),
    **dict.fromkeys(_CHANGED_TWICE, 2),
    "roi_align": 3,
    "set_value": 4,
}
"""The versions of ops in Paddle 3.0; of all others 0."""

_ONLY: dict[str, dict[str, Any]] = {
    "round": {"decimals": 0},
    "truncated_gaussian_random": {"a": -2.0, "b": 2.0},
}
"""Attributes that ops have got since 2.6, and the value that means what the op has meant before."""


def read_program(content: bytes, where: str) -> Any:
    """A ProgramDesc.

    Args:
      where: the content comes from, for errors.

    Raises:
      Error: for bytes that are none.
      UnsupportedError: for a program of PIR, and of another version than those that are read.
    """
    if content.lstrip()[:1] == b"{":
        raise UnsupportedError(
            f"{where} is a program of Paddle's PIR, in JSON, which is not supported: {_REMEDY}"
        )
    try:
        description = schema.parsed("ProgramDesc", content, where)
    except Error as error:
        raise Error(f"{error}; {_REMEDY}") from None
    if not description.blocks:
        raise Error(f"{where} is no ProgramDesc of Paddle: it has no blocks; {_REMEDY}")
    number = description.version.version
    if number and not 1 <= number // _MAJOR <= _NEWEST_MAJOR:
        version = f"{number // _MAJOR}.{number % _MAJOR // _MINOR}.{number % _MINOR}"
        raise UnsupportedError(
            f"{where} is a program of Paddle {version} (version {number}), expected 1, 2 or 3; {_REMEDY}"
        )
    return description


def changed_ops(description: Any) -> frozenset[str]:
    """The ops that a program has in a version after that of Paddle 3.0."""
    if description.version.version < _AFTER_3_0:
        return frozenset()
    versions = {text(pair.op_name): pair.op_version.version for pair in description.op_version_map.pair}
    return frozenset(name for name, version in versions.items() if version > _NEWEST.get(name, 0))


def differences(ops: Iterable[Op], changed: Collection[str]) -> Iterator[str]:
    """What ops mean otherwise than in Paddle 2.6, one text for each op.

    Args:
      changed: the ops of versions that are not known.
    """
    for op in ops:
        if op.kind in changed:
            yield f"{op} in a version after 3.0"
        for name, value in _ONLY.get(op.kind, {}).items():
            if (found := op.attributes.get(name, value)) != value:
                yield f"{op} with {name} {found}, expected {value}"
