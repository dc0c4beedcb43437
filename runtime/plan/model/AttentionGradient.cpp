#include "runtime/plan/model/AttentionGradient.h"

#include <algorithm>
#include <utility>

namespace epl::runtime {

const plan::ContractT *attentionEndOf(const plan::PlanT &plan, const plan::AttentionGradientT &gradient) {
  const plan::ContractT *end = gradient.attention < plan.commands.size()
                                   ? plan.commands[gradient.attention]->action.AsContract()
                                   : nullptr;
  if (!end || !end->attention || end->attention->scores >= plan.commands.size())
    return nullptr;
  const plan::ContractT *scores = plan.commands[end->attention->scores]->action.AsContract();
  return scores && scores->batch.size() <= 3 && scores->batch.size() == end->batch.size() ? end : nullptr;
}

static AttentionTensor tensorOf(const plan::AttentionOperand &operand, const AttentionTensor &like) {
  return {operand.buffer(), like.extents, {operand.sample(), operand.head(), operand.position(), 1}};
}

AttentionGradientShape shapeOf(const plan::PlanT &plan, const plan::AttentionGradientT &gradient) {
  AttentionShape own = shapeOf(plan, *attentionEndOf(plan, gradient));
  AttentionTensor *tensors[] = {&own.q, &own.k, &own.v, &own.o};
  for (size_t i = 0; i < std::size(tensors); ++i)
    *tensors[i] = tensorOf(gradient.inputs[i], *tensors[i]);
  return {own, tensorOf(gradient.inputs[4], own.o), tensorOf(gradient.outputs[0], own.q),
          tensorOf(gradient.outputs[1], own.k), tensorOf(gradient.outputs[2], own.v)};
}

std::vector<StridedDim> dimsOf(const AttentionTensor &tensor) {
  std::vector<StridedDim> dims;
  for (size_t dim = tensor.extents.size(); dim-- > 0;)
    dims.push_back({tensor.extents[dim], tensor.strides[dim]});
  return dims;
}

std::vector<Access> accessesOf(const plan::PlanT &plan, const plan::AttentionGradientT &gradient) {
  AttentionGradientShape shape = shapeOf(plan, gradient);
  const AttentionShape &own = shape.attention;
  std::vector<Access> accesses;
  auto add = [&](const AttentionTensor &tensor, bool write, uint32_t operand) {
    accesses.push_back({.buffer = tensor.buffer, .write = write, .operand = operand});
    stridedRanges(dimsOf(tensor), elementBytes(own.type), accesses.back().ranges);
  };
  const AttentionTensor *outputs[] = {&shape.dq, &shape.dk, &shape.dv},
                        *inputs[] = {&own.q, &own.k, &own.v, &own.o, &shape.dO};
  for (uint32_t i = 0; i < gradientOutputs; ++i)
    add(*outputs[i], false, i);
  for (uint32_t i = 0; i < gradientInputs; ++i)
    add(*inputs[i], false, gradientOutputs + i);
  accesses.push_back({.buffer = gradient.stats,
                      .write = false,
                      .operand = gradientOutputs + gradientInputs,
                      .ranges = {{0, shape.statsBytes()}}});
  for (uint32_t i = 0; i < gradientOutputs; ++i)
    add(*outputs[i], true, i);
  return accesses;
}

std::string textOf(const AttentionGradientShape &shape) {
  std::string text = textOf(shape.attention);
  for (auto [name, tensor] : {std::pair("dO", &shape.dO), std::pair("dq", &shape.dq),
                              std::pair("dk", &shape.dk), std::pair("dv", &shape.dv)})
    text += std::string(", ") + name + " " + textOf(*tensor, shape.attention.type);
  return text;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

namespace {

/// What a command reads as an operand: who has made it.
std::vector<std::pair<int32_t, uint32_t>> valueOf(const plan::CommandT &command, uint32_t operand) {
  std::vector<std::pair<int32_t, uint32_t>> found;
  for (const plan::Origin &origin : command.origins)
    if (origin.operand() == operand)
      found.emplace_back(origin.command(), origin.output());
  return found;
}

class Gradient {
public:
  Gradient(const plan::PlanT &plan, uint32_t index)
      : plan(plan), index(index), command(*plan.commands[index]),
        gradient(*command.action.AsAttentionGradient()) {}

  std::string fault() const {
    const plan::ContractT *end = attentionEndOf(plan, gradient);
    if (!end || gradient.attention >= index || end->attention->gradient != int32_t(index))
      return "names command " + std::to_string(gradient.attention) +
             " as its attention, expected one before it that names it in turn";
    if (gradient.stats != end->attention->stats)
      return "reads the rows of buffer " + std::to_string(gradient.stats) + ", expected those of buffer " +
             std::to_string(end->attention->stats) + ", which its attention writes";
    if (!haveEqualGuards(command, *plan.commands[gradient.attention]) ||
        !haveEqualOwners(command, *plan.commands[gradient.attention]))
      return "has other guards, or another owner, than its attention";
    if (std::string fault = faultOfInputs(*end); !fault.empty())
      return fault;
    for (uint32_t output = 0; output < gradientOutputs; ++output)
      for (auto [maker, _] : valueOf(command, output))
        if (maker < 0 || plan.commands[size_t(maker)]->attention != int32_t(index))
          return "has a gradient in buffer " + std::to_string(gradient.outputs[output].buffer()) +
                 " that a command has made whose work it does not do";
    return "";
  }

private:
  /// The tensors of the attention, with the values that these had there.
  std::string faultOfInputs(const plan::ContractT &end) const {
    AttentionShape own = shapeOf(plan, gradient).attention, other = shapeOf(plan, end);
    if (textOf(own) != textOf(other))
      return "is of " + textOf(own) + ", expected " + textOf(other);
    const plan::CommandT &last = *plan.commands[gradient.attention],
                         &scores = *plan.commands[end.attention->scores];
    using Value = std::vector<std::pair<int32_t, uint32_t>>;
    const std::pair<const char *, Value> expected[] = {{"q", valueOf(scores, 0)},
                                                       {"k", valueOf(scores, 1)},
                                                       {"v", valueOf(last, 1)},
                                                       {"o", {{int32_t(gradient.attention), 0}}}};
    for (uint32_t i = 0; i < std::size(expected); ++i)
      if (valueOf(command, gradientOutputs + i) != expected[i].second)
        return std::string("reads another value of ") + expected[i].first + " than its attention";
    if (valueOf(command, gradientOutputs + gradientInputs) != Value{{int32_t(gradient.attention), 1}})
      return "reads rows that its attention has not written";
    return "";
  }

  const plan::PlanT &plan;
  uint32_t index;
  const plan::CommandT &command;
  const plan::AttentionGradientT &gradient;
};

} // namespace

std::string faultOfGradient(const plan::PlanT &plan, uint32_t command) {
  return Gradient(plan, command).fault();
}

} // namespace epl::runtime
