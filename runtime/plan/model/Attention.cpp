#include "runtime/plan/model/Attention.h"

#include "runtime/plan/model/Access.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace epl::runtime {

/// The loops of a contraction's batch, outer ones first, by one of their strides.
static std::vector<plan::BatchDim> batchOf(const plan::ContractT &contract,
                                           int64_t (plan::BatchDim::*stride)() const) {
  std::vector<plan::BatchDim> batch = contract.batch;
  std::ranges::sort(batch, std::greater<>(), [&](const plan::BatchDim &dim) { return (dim.*stride)(); });
  return batch;
}

/// Which loops over matrices of pairs of positions, outer ones first, are over samples, over heads, and over
/// the heads of q that share one of k and v: -1 if there is none.
struct Heads {
  int sample = -1, head = -1, group = -1;
};

/// Nothing if there are loops that no library has: the heads of a group must stand side by side in q and o.
static std::optional<Heads> headsOf(const std::vector<plan::BatchDim> &scores,
                                    const std::vector<plan::BatchDim> &product) {
  Heads heads;
  std::vector<int> others;
  for (int loop = 0; loop < int(scores.size()); ++loop) {
    if (scores[size_t(loop)].stride_b() != 0)
      others.push_back(loop);
    else if (heads.group >= 0)
      return std::nullopt;
    else
      heads.group = loop;
  }
  if (others.size() > 2)
    return std::nullopt;
  auto isSideBySide = [&](int loop) {
    const plan::BatchDim &group = scores[size_t(heads.group)];
    return scores[size_t(loop)].stride_a() == group.extent() * group.stride_a() &&
           product[size_t(loop)].stride_c() == group.extent() * product[size_t(heads.group)].stride_c();
  };
  for (size_t i = others.size(); i-- > 0;) {
    bool isHead = heads.group < 0 || (others.size() == 2 && isSideBySide(others[i]));
    (isHead && heads.head < 0 ? heads.head : heads.sample) = others[i];
  }
  return heads.group < 0 || others.size() < 2 || heads.head >= 0 ? std::optional(heads) : std::nullopt;
}

/// A tensor of a product with strides along the loops of its batch; of queries it has the heads of a group.
class TensorMaker {
public:
  TensorMaker(const std::vector<plan::BatchDim> &batch, Heads heads) : batch(batch), heads(heads) {}

  AttentionTensor make(uint32_t buffer, int64_t (plan::BatchDim::*stride)() const, int64_t rows,
                       int64_t columns, int64_t leading, bool isOfQueries) const {
    // What nobody steps by, is as if it were dense.
    AttentionTensor made{buffer, {1, 1, rows, columns}, {rows * leading, rows * leading, leading, 1}};
    auto set = [&](size_t dim, int loop) {
      if (loop < 0)
        return;
      made.extents[dim] *= batch[size_t(loop)].extent();
      made.strides[dim] = (batch[size_t(loop)].*stride)();
    };
    set(0, heads.sample), set(1, heads.head);
    if (isOfQueries)
      set(1, heads.group);
    return made;
  }

private:
  const std::vector<plan::BatchDim> &batch;
  Heads heads;
};

AttentionShape shapeOf(const plan::PlanT &plan, const plan::ContractT &contract) {
  const plan::AttentionT &attention = *contract.attention;
  const plan::ContractT &scores = *plan.commands[attention.scores]->action.AsContract();
  std::vector<plan::BatchDim> ofScores = batchOf(scores, &plan::BatchDim::stride_c);
  std::vector<plan::BatchDim> ofProduct = batchOf(contract, &plan::BatchDim::stride_a);
  Heads heads = headsOf(ofScores, ofProduct).value_or(Heads());
  TensorMaker first(ofScores, heads), second(ofProduct, heads);
  return {contract.type,
          first.make(scores.a, &plan::BatchDim::stride_a, scores.m, scores.k, scores.lda, true),
          first.make(scores.b, &plan::BatchDim::stride_b, scores.n, scores.k, scores.ldb, false),
          second.make(contract.b, &plan::BatchDim::stride_b, contract.k, contract.n, contract.ldb, false),
          second.make(contract.c, &plan::BatchDim::stride_c, contract.m, contract.n, contract.ldc, true),
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
        product.lda != product.k || scores.batch.size() != product.batch.size())
      return false;
    std::vector<plan::BatchDim> first = batchOf(scores, &plan::BatchDim::stride_c);
    std::vector<plan::BatchDim> second = batchOf(product, &plan::BatchDim::stride_a);
    int64_t next = scores.m * scores.n;
    for (size_t i = first.size(); i-- > 0;) {
      const plan::BatchDim &one = first[i], &other = second[i];
      bool isAlike = one.extent() == other.extent() && one.stride_c() == next && other.stride_a() == next;
      bool isGroup = one.stride_b() == 0 && other.stride_b() == 0;
      if (!isAlike || one.extent() < 1 || one.stride_a() < 1 || other.stride_c() < 1 ||
          (!isGroup && (one.stride_b() < 1 || other.stride_b() < 1)))
        return false;
      next *= one.extent();
    }
    return headsOf(first, second).has_value();
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
