//===- AttentionGraph.h - Attention as the stand-in of cuDNN recognizes it -*- C++ -*-===//
#pragma once

#include "test/cuda/libraries/cudnn/DescriptorT.h"

#include <optional>

namespace cudnn_double {

/// The tensors of attention, of whose k and v a head may be that of several heads of q, side by side; k is
/// transposed, mask is null if it has none.
struct AttentionGraph {
  const DescriptorT *q, *k, *v, *o, *stats, *scale, *mask;
};

/// What a graph that is final is; nothing if the library has no engine for it: other operations, in another
/// order, or of other types and extents.
std::optional<AttentionGraph> findAttention(const DescriptorT &graph);

/// The tensors of the gradient of attention; k and v are transposed, mask is null if it has none.
struct AttentionGradientGraph {
  const DescriptorT *q, *k, *v, *o, *dO, *stats, *dq, *dk, *dv, *rowSums, *scale, *one, *mask;
};

/// The same of the gradient.
std::optional<AttentionGradientGraph> findAttentionGradient(const DescriptorT &graph);

} // namespace cudnn_double
