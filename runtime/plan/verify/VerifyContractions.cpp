// Contractions, and attention made of them, each by itself: types, extents, strides, what lies in buffers. A
// part of the second stage of the plan verifier.

#include "runtime/plan/model/AttentionGradient.h"
#include "runtime/plan/model/Strides.h"
#include "runtime/plan/verify/CommandCheck.h"
#include "runtime/plan/verify/VerifyStages.h"

namespace epl::runtime {
namespace {

class ContractionCheck : CommandCheck {
public:
  ContractionCheck(const plan::PlanT &plan, uint32_t command, Report &report)
      : CommandCheck(plan, command, report) {}

  bool run() {
    const plan::ActionUnion &action = plan.commands[index]->action;
    if (const plan::ContractT *contract = action.AsContract())
      checkContract(*contract);
    else
      checkGradient(*action.AsAttentionGradient());
    return good;
  }

private:
  void checkContract(const plan::ContractT &contract) {
    bool narrow = contract.type == plan::ElementType::bf16 || contract.type == plan::ElementType::f16;
    if (!narrow && contract.type != plan::ElementType::f32 && contract.type != plan::ElementType::f64)
      return fail(" contracts elements of type ", int(contract.type), ", expected f32, f64, bf16 or f16");
    if (contract.widens && !narrow)
      return fail(" widens elements of type ", int(contract.type), ", expected bf16 or f16");
    if (contract.m < 0 || contract.n < 0 || contract.k < 0)
      return fail(" contracts ", contract.m, " x ", contract.k, " by ", contract.k, " x ", contract.n);
    checkOperand(contract, ContractOperand::a, contract.a, "a");
    checkOperand(contract, ContractOperand::b, contract.b, "b");
    checkOperand(contract, ContractOperand::c, contract.c, "c");
    checkEpilogue(contract);
    if (contract.attention)
      checkScores(*contract.attention);
    if (contract.attention && contract.attention->gradient >= 0)
      checkStats(contract);
    if (good && !isInjective(dimsOf(contract, ContractOperand::c)))
      fail(" writes elements of c more than once");
  }

  /// What the end of attention reads is what that contraction reads, which must be right for that.
  void checkScores(const plan::AttentionT &attention) {
    if (attention.scores >= index || !plan.commands[attention.scores]->action.AsContract())
      return fail(" names command ", attention.scores, " as its scores, expected a contraction before it");
    good &= !report.failed();
  }

  /// What attention keeps of its rows for its gradient.
  void checkStats(const plan::ContractT &contract) {
    requireRoom(contract.attention->stats, plan::ElementType::f32, statsExtentsOf(contract));
  }

  /// Its tensors have the extents of those of the attention, which must be right for that.
  void checkGradient(const plan::AttentionGradientT &gradient) {
    if (gradient.inputs.size() != gradientInputs || gradient.outputs.size() != gradientOutputs)
      return fail(" has ", gradient.inputs.size(), " inputs and ", gradient.outputs.size(),
                  " outputs, expected ", gradientInputs, " and ", gradientOutputs);
    if (gradient.attention >= index || !attentionEndOf(plan, gradient))
      return fail(" names command ", gradient.attention,
                  " as its attention, expected a contraction with one before it");
    if (good &= !report.failed(); !good)
      return;
    AttentionGradientShape shape = shapeOf(plan, gradient);
    const AttentionShape &own = shape.attention;
    requireRoom(gradient.stats, plan::ElementType::f32,
                {own.q.extents[0], own.q.extents[1], own.q.extents[2]});
    const std::pair<const char *, const AttentionTensor &> tensors[] = {{"q", own.q},
                                                                        {"k", own.k},
                                                                        {"v", own.v},
                                                                        {"o", own.o},
                                                                        {"the gradient of o", shape.dO},
                                                                        {"the gradient of q", shape.dq},
                                                                        {"the gradient of k", shape.dk},
                                                                        {"the gradient of v", shape.dv}};
    for (const auto &[name, tensor] : tensors) {
      requireStrided(dimsOf(tensor), own.type, tensor.buffer, name);
      if (good && !isInjective(dimsOf(tensor)))
        return fail(" has elements of ", name, " more than once");
    }
  }

  void checkEpilogue(const plan::ContractT &contract) {
    if (contract.has_bias)
      checkOperand(contract, ContractOperand::bias, contract.bias, "bias");
    if (contract.activation < plan::Activation::MIN || contract.activation > plan::Activation::MAX)
      return fail(" applies activation ", int(contract.activation), " to a product, expected one up to ",
                  int(plan::Activation::MAX));
    if (!contract.has_bias && contract.activation == plan::Activation::none)
      return;
    if (plan.device_kind != "cuda")
      fail(" has an epilogue on a device of kind \"", plan.device_kind, "\", expected \"cuda\"");
    if (contract.accumulate || contract.widens || contract.type == plan::ElementType::f64)
      fail(" has an epilogue, expected one only of a product of f32, bf16 or f16 that does not accumulate or "
           "widen");
  }

  void checkOperand(const plan::ContractT &contract, ContractOperand operand, uint32_t buffer,
                    const char *name) {
    if (!requireBuffer(buffer))
      return;
    std::vector<StridedDim> dims = dimsOf(contract, operand);
    if (dims[1].stride < dims[0].extent)
      return fail(" has leading dimension ", dims[1].stride, " of ", name, ", expected at least ",
                  dims[0].extent);
    requireStrided(dims, typeOf(contract, operand), buffer, name);
  }

  /// The elements of a strided tensor are in its buffer.
  void requireStrided(const std::vector<StridedDim> &dims, plan::ElementType type, uint32_t buffer,
                      const char *name) {
    if (!requireBuffer(buffer))
      return;
    if (std::string fault = faultOfStrided(plan, buffer, dims, type, name); !fault.empty())
      fail(fault);
  }
};

} // namespace

bool checkContraction(const plan::PlanT &plan, uint32_t command, Report &report) {
  return ContractionCheck(plan, command, report).run();
}

} // namespace epl::runtime
