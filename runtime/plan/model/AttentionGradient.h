// The gradients of attention as a library takes them: the one definition that the verifier and the runtime
// share.
#ifndef EPL_RUNTIME_PLAN_MODEL_ATTENTION_GRADIENT_H
#define EPL_RUNTIME_PLAN_MODEL_ATTENTION_GRADIENT_H

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Attention.h"

namespace epl::runtime {

/// Of attention, and the gradient dO of its o, those of the other tensors.
struct AttentionGradientShape {
  AttentionShape attention;
  AttentionTensor dO, dq, dk, dv;

  /// What the library has of rows: a float for each of q.
  uint64_t statsBytes() const {
    const std::array<int64_t, 4> &rows = attention.q.extents;
    return uint64_t(rows[0]) * uint64_t(rows[1]) * uint64_t(rows[2]) * sizeof(float);
  }
};

/// How many tensors an AttentionGradient has of each kind.
inline constexpr size_t gradientInputs = 5, gradientOutputs = 3;

/// The contraction that ends the attention whose gradient a command is; null if it names none, or one whose
/// extents are no tensors of a library.
const plan::ContractT *attentionEndOf(const plan::PlanT &plan, const plan::AttentionGradientT &gradient);

/// Of one for which there is that, with as many tensors as there must be.
AttentionGradientShape shapeOf(const plan::PlanT &plan, const plan::AttentionGradientT &gradient);

/// The elements of a tensor.
std::vector<StridedDim> dimsOf(const AttentionTensor &tensor);

/// What it touches: reads of the gradients, which it leaves where no library makes them, then of the inputs
/// and of the statistics of rows; writes of the gradients.
std::vector<Access> accessesOf(const plan::PlanT &plan, const plan::AttentionGradientT &gradient);

/// Two that have the same text are the same to a library.
std::string textOf(const AttentionGradientShape &shape);

/// What is wrong with command `command`, an AttentionGradient, as a part of a sentence; "" if nothing: other
/// tensors or values than those of the attention, gradients that no command has made before. Needs a plan
/// whose commands are right by themselves, and attention without faults.
std::string faultOfGradient(const plan::PlanT &plan, uint32_t command);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_ATTENTION_GRADIENT_H
