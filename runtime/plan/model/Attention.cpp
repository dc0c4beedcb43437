#include "runtime/plan/model/Attention.h"

#include "runtime/plan/model/Access.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace epl::runtime {

/// The loops of a contraction's batch, outer ones first, by one of their strides.
static std::vector<plan::BatchDim> batchOf(const plan::ContractT &contract,
                                           int64_t (plan::BatchDim::*stride)() const) {
  std::vector<plan::BatchDim> batch = contract.batch;
  std::ranges::sort(batch, std::greater<>(), [&](const plan::BatchDim &dim) { return (dim.*stride)(); });
  return batch;
}

static AttentionTensor tensorOf(uint32_t buffer, const std::vector<plan::BatchDim> &batch,
                                int64_t (plan::BatchDim::*stride)() const, int64_t rows, int64_t columns,
                                int64_t leading) {
  // What nobody steps by, is as if it were dense.
  AttentionTensor made{buffer, {1, 1, rows, columns}, {rows * leading, rows * leading, leading, 1}};
  for (size_t i = 0; i < batch.size(); ++i) {
    size_t dim = 2 - batch.size() + i;
    made.extents[dim] = batch[i].extent();
    made.strides[dim] = (batch[i].*stride)();
  }
  return made;
}

AttentionShape shapeOf(const plan::PlanT &plan, const plan::ContractT &contract) {
  const plan::AttentionT &attention = *contract.attention;
  const plan::ContractT &scores = *plan.commands[attention.scores]->action.AsContract();
  std::vector<plan::BatchDim> first = batchOf(scores, &plan::BatchDim::stride_c);
  std::vector<plan::BatchDim> second = batchOf(contract, &plan::BatchDim::stride_a);
  return {contract.type,
          tensorOf(scores.a, first, &plan::BatchDim::stride_a, scores.m, scores.k, scores.lda),
          tensorOf(scores.b, first, &plan::BatchDim::stride_b, scores.n, scores.k, scores.ldb),
          tensorOf(contract.b, second, &plan::BatchDim::stride_b, contract.k, contract.n, contract.ldb),
          tensorOf(contract.c, second, &plan::BatchDim::stride_c, contract.m, contract.n, contract.ldc),
          attention.scale,
          attention.causal};
}

std::vector<int64_t> statsExtentsOf(const plan::ContractT &contract) {
  std::vector<int64_t> extents{contract.m};
  for (const plan::BatchDim &dim : contract.batch)
    extents.push_back(dim.extent());
  return extents;
}

static std::string joined(const std::array<int64_t, 4> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
}

std::string textOf(const AttentionTensor &tensor, plan::ElementType type) {
  return std::string(plan::EnumNameElementType(type)) + "[" + joined(tensor.extents) + "] by " +
         joined(tensor.strides);
}

std::string textOf(const AttentionShape &shape) {
  std::string text;
  for (auto [name, tensor] : {std::pair("q", &shape.q), std::pair("k", &shape.k), std::pair("v", &shape.v),
                              std::pair("o", &shape.o)})
    text += std::string(name) + " " + textOf(*tensor, shape.type) + ", ";
  return text + "scale " + std::to_string(shape.scale) + (shape.isCausal ? " causal" : "");
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

namespace {

class Attention {
public:
  Attention(const plan::PlanT &plan, uint32_t command)
      : plan(plan), index(command), product(*plan.commands[command]->action.AsContract()),
        attention(*product.attention) {}

  std::string fault() const {
    if (attention.scores >= attention.softmax || attention.softmax >= index)
      return "names commands " + std::to_string(attention.scores) + " and " +
             std::to_string(attention.softmax) + " as its scores and their softmax, expected earlier ones";
    const plan::ContractT *scores = plan.commands[attention.scores]->action.AsContract();
    const plan::LaunchT *softmax = plan.commands[attention.softmax]->action.AsLaunch();
    if (!scores || !softmax)
      return "names other commands as its scores and their softmax than a contraction and a launch";
    if (!std::isfinite(attention.scale))
      return "has a scale that is not finite";
    if (!isPlain(*scores) || !scores->transpose_b || !isPlain(product) || product.widens ||
        product.transpose_b || scores->type != product.type)
      return "is of other products than q k^T and p v, of bf16 or f16";
    const plan::KernelT &kernel = *plan.kernels[softmax->kernel];
    auto end = softmax->buffers.begin() + int64_t(kernel.operand_sizes.size()),
         outputs = softmax->buffers.begin() + kernel.num_inputs;
    if (std::find(softmax->buffers.begin(), outputs, scores->c) == outputs ||
        std::find(outputs, end, product.a) == end)
      return "has a softmax that does not make its first operand of the scores";
    if (!fit(*scores))
      return "has products whose extents or strides do not fit together";
    for (uint32_t part : {attention.scores, attention.softmax})
      if (std::string fault = faultOfPart(part); !fault.empty())
        return fault;
    return faultOfBuffers(*scores);
  }

private:
  static bool isPlain(const plan::ContractT &contract) {
    bool isNarrow = contract.type == plan::ElementType::bf16 || contract.type == plan::ElementType::f16;
    return isNarrow && !contract.transpose_a && !contract.accumulate && !contract.has_bias &&
           contract.activation == plan::Activation::none && contract.m > 0 && contract.n > 0 &&
           contract.k > 0;
  }

  /// Whether the scores lie as the product reads its first operand: matrices one behind the other.
  bool fit(const plan::ContractT &scores) const {
    if (scores.m != product.m || scores.n != product.k || scores.ldc != scores.n ||
        product.lda != product.k || scores.batch.size() != product.batch.size() || product.batch.size() > 2)
      return false;
    std::vector<plan::BatchDim> first = batchOf(scores, &plan::BatchDim::stride_c);
    std::vector<plan::BatchDim> second = batchOf(product, &plan::BatchDim::stride_a);
    int64_t next = scores.m * scores.n;
    for (size_t i = first.size(); i-- > 0;) {
      const plan::BatchDim &one = first[i], &other = second[i];
      bool isAlike = one.extent() == other.extent() && one.stride_c() == next && other.stride_a() == next;
      if (!isAlike || one.extent() < 1 || one.stride_a() < 1 || one.stride_b() < 1 || other.stride_b() < 1 ||
          other.stride_c() < 1)
        return false;
      next *= one.extent();
    }
    return true;
  }

  std::string faultOfPart(uint32_t part) const {
    const plan::CommandT &command = *plan.commands[part], &own = *plan.commands[index];
    if (command.attention != int32_t(index))
      return "names command " + std::to_string(part) + ", which does not name it in turn";
    bool isAlike = command.lane == own.lane && command.unit == own.unit && haveEqualGuards(command, own) &&
                   haveEqualOwners(command, own);
    return isAlike ? ""
                   : "has another lane, unit, owner or other guards than command " + std::to_string(part);
  }

  /// What no command makes where a library does all three, is in the arena, and seen by nobody through views.
  std::string faultOfBuffers(const plan::ContractT &scores) const {
    for (uint32_t buffer : {scores.c, product.a})
      if (plan.buffers[buffer]->slot >= 0 || plan.buffers[buffer]->view_of >= 0)
        return "has scores in buffer " + std::to_string(buffer) + ", expected one of the arena";
    for (const auto &buffer : plan.buffers)
      if (buffer->view_of >= 0 &&
          (uint32_t(buffer->view_of) == scores.c || uint32_t(buffer->view_of) == product.a))
        return "has scores that a view is of";
    return "";
  }

  const plan::PlanT &plan;
  uint32_t index;
  const plan::ContractT &product;
  const plan::AttentionT &attention;
};

} // namespace

std::string faultOfAttention(const plan::PlanT &plan, uint32_t command) {
  return Attention(plan, command).fault();
}

} // namespace epl::runtime
