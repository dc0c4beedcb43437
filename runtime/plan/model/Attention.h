// Attention as a library takes it: the one definition that the verifier and the runtime share.
#ifndef EPL_RUNTIME_PLAN_MODEL_ATTENTION_H
#define EPL_RUNTIME_PLAN_MODEL_ATTENTION_H

#include "runtime/plan/format/plan_generated.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// A tensor whose dimensions are samples, heads, positions, and elements that lie side by side.
struct AttentionTensor {
  uint32_t buffer;
  std::array<int64_t, 4> extents;
  std::array<int64_t, 4> strides; ///< in elements, positive
};

/// o = softmax(scale * q k^T) v for each sample and head of q. Of k and v there may be fewer heads: then each
/// is that of a group of heads of q, which stand side by side.
struct AttentionShape {
  plan::ElementType type; ///< of all four; sums are f32
  AttentionTensor q, k, v, o;
  float scale;
  bool isCausal;
};

/// Of a contraction that has an attention without a fault.
AttentionShape shapeOf(const plan::PlanT &plan, const plan::ContractT &contract);

/// Extents of what the contraction that ends it keeps of its rows for its gradient: matrices, and rows of
/// each.
std::vector<int64_t> statsExtentsOf(const plan::ContractT &contract);

/// How it is told of a tensor: bf16[4x2x32x16] by 1024x16x32x1
std::string textOf(const AttentionTensor &tensor, plan::ElementType type);

/// Two that have the same text are the same to a library: q bf16[4x2x32x16] by 1024x16x32x1, .. scale 0.25
/// causal
std::string textOf(const AttentionShape &shape);

/// What is wrong with the attention that command `command`, a contraction, ends, as a part of a sentence; ""
/// if nothing: commands that are not there or other ones, products that do not fit together, scores that are
/// no tensors of the arena. Needs a plan whose commands are right by themselves.
std::string faultOfAttention(const plan::PlanT &plan, uint32_t command);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_ATTENTION_H
