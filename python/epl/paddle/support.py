"""What a program has that is not supported, all of it in one error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from epl.errors import UnsupportedError
from epl.paddle import formats, operators
from epl.paddle.description import Computed, Op, Variable

_GRAD = operators.gradients.OF

_LOD_PREFIX = "sequence_"
_LOD = {
    "array_to_lod_tensor", "attention_lstm", "beam_search", "beam_search_decode", "bipartite_match",
    "chunk_eval", "collect_fpn_proposals", "crf_decoding", "ctc_align", "detection_map",
    "distribute_fpn_proposals", "dynamic_gru", "dynamic_lstm", "edit_distance", "filter_by_instag",
    "fused_embedding_fc_lstm", "fused_embedding_seq_pool", "fused_seqpool_cvm", "fusion_gru", "fusion_lstm",
    "fusion_seqconv_eltadd_relu", "fusion_seqexpand_concat_fc", "fusion_seqpool_concat",
    "fusion_seqpool_cvm_concat", "generate_proposal_labels", "generate_proposals", "gru", "im2sequence",
    "linear_chain_crf", "lod_append", "lod_array_length", "lod_rank_table", "lod_reset",
    "lod_tensor_to_array", "lstm", "lstmp", "match_matrix_tensor", "max_sequence_len", "merge_lod_tensor",
    "mine_hard_examples", "multiclass_nms", "pyramid_hash", "reorder_lod_tensor_by_rank", "row_conv",
    "rpn_target_assign", "shrink_rnn_memory", "split_lod_tensor", "target_assign", "var_conv_2d", "warpctc",
}  # fmt: skip


def needs_lod(kind: str) -> bool:
    """Whether an op that is not supported, or the gradient of one, is of sequences of different lengths."""
    of = kind.removesuffix(_GRAD)
    return of in _LOD or of.startswith(_LOD_PREFIX)


def check(
    blocks: Sequence[Sequence[Op]], fed: Iterable[Variable], changed: Collection[str], where: str
) -> None:
    """Whether all ops of a program are supported.

    Args:
      fed: the variables that the program is fed.
      changed: the ops of versions that are not known.

    Raises:
      UnsupportedError: names all ops that are not, with their lines.
    """
    ops = [op for block in blocks for op in block]
    missing = [op for op in ops if operators.find(op.kind) is None and not op.has_blocks]
    found = [
        _flow([op for op in ops if op.has_blocks], len(blocks)),
        _part("ops that are not supported yet: ", [op for op in missing if not needs_lod(op.kind)]),
        _part("ops that mean something else than in Paddle 2.6: ", formats.differences(ops, changed)),
        _part("attributes that are computed, which is not supported: ", _computed(ops)),
        _sequences([op for op in missing if needs_lod(op.kind)], fed),
    ]
    if any(found):
        raise UnsupportedError(f"{where} has {'; '.join(filter(None, found))}")


def _part(title: str, things: Iterable[Any]) -> str:
    texts = ", ".join(dict.fromkeys(map(str, things)))
    return f"{title}{texts}" if texts else ""


def _flow(ops: Sequence[Op], blocks: int) -> str:
    if blocks == 1 and not ops:
        return ""
    names = _part("", ops) or "none"
    return f"{blocks} blocks, expected 1: control flow ({names}) is not supported yet"


def _computed(ops: Iterable[Op]) -> Iterator[str]:
    for op in ops:
        for name, value in op.attributes.items():
            if isinstance(value, Computed):
                yield f'"{name}" of {op}'


def _sequences(ops: Sequence[Op], fed: Iterable[Variable]) -> str:
    if not ops:
        return ""
    feeds = _part(", of the feeds ", (f'"{variable.name}"' for variable in fed if variable.lod_level))
    found = _part("ops on sequences of different lengths (LoD), which are not supported: ", ops)
    return f"{found}{feeds}: pad the sequences to one length"
