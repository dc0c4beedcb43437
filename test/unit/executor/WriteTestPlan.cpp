// Writes one of a few hand-written plans to a file: for the tests of the Python module and of epl-run, which
// need plans but no compiler.
//
//   EplWriteTestPlan step|reference|wrong|echo|gate|fragile|report|matmul|features FILE
#include "TestPlan.h"

#include "runtime/plan/format/Writer.h"

#include <functional>
#include <iostream>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;

/// n = n + 1; total = the sum of x over dimension 0; same = x. On one rank or two.
TestPlan makeStep(uint32_t ranks) {
  TestPlan plan(ranks);
  uint32_t n = plan.slotBuffer(plan.slot(SlotRole::state, "n", ElementType::i64, {4}));
  uint32_t x = plan.slotBuffer(plan.slot(SlotRole::batch, "x", ElementType::i64, {2, 3}, {{"data"}}));
  plan.slot(SlotRole::result, "n", ElementType::i64, {4}, {}, 0);
  uint32_t total = plan.slotBuffer(plan.slot(SlotRole::result, "total", ElementType::i64, {3}));
  uint32_t same = plan.slotBuffer(plan.slot(SlotRole::result, "same", ElementType::i64, {2, 3}, {{"data"}}));
  plan.launch("increment", 4, {n, n});
  if (ranks == 1)
    plan.launch("add_rows", 3, {x, total});
  else
    plan.allReduce(plan::ReductionKind::sum, ElementType::i64, x, total, 3, {});
  plan.copy(x, same);
  return plan;
}

/// makeStep on one rank, but n grows by 2.
TestPlan makeWrong() {
  TestPlan plan = makeStep(1);
  plan.launch("increment", 4, {0, 0});
  return plan;
}

/// Every argument comes back, one for each element type.
TestPlan makeEcho() {
  TestPlan plan(2);
  std::vector<uint32_t> arguments;
  for (ElementType type : plan::EnumValuesElementType())
    arguments.push_back(
        plan.slotBuffer(plan.slot(SlotRole::constant, plan::EnumNameElementType(type), type, {2, 3})));
  for (size_t i = 0; i < arguments.size(); ++i) {
    ElementType type = plan::EnumValuesElementType()[i];
    plan.copy(arguments[i],
              plan.slotBuffer(plan.slot(SlotRole::result, plan::EnumNameElementType(type), type, {2, 3})));
  }
  return plan;
}

/// c = a b.
TestPlan makeMatmul() {
  TestPlan plan(1);
  plan::ContractT contract;
  contract.type = ElementType::f32;
  contract.a = plan.slotBuffer(plan.slot(SlotRole::batch, "a", ElementType::f32, {2, 3}));
  contract.b = plan.slotBuffer(plan.slot(SlotRole::constant, "b", ElementType::f32, {3, 4}));
  contract.c = plan.slotBuffer(plan.slot(SlotRole::result, "c", ElementType::f32, {2, 4}));
  contract.m = 2;
  contract.n = contract.ldb = contract.ldc = 4;
  contract.k = contract.lda = 3;
  plan.command("matmul", std::move(contract), {});
  return plan;
}

/// makeStep on one rank, for a CPU that there is not.
TestPlan makeFeatures() {
  TestPlan plan = makeStep(1);
  plan.image().features = {"sse2", "avx9000"};
  return plan;
}

/// n = n + 1 once the gate is open.
TestPlan makeGate() {
  TestPlan plan(2);
  uint32_t n = plan.slotBuffer(plan.slot(SlotRole::state, "n", ElementType::i64, {1}));
  uint32_t gate = plan.slotBuffer(plan.slot(SlotRole::constant, "gate", ElementType::i64, {1}));
  plan.slot(SlotRole::result, "n", ElementType::i64, {1}, {}, 0);
  plan.launch("wait_at_gate", 1, {gate});
  plan.launch("increment", 1, {n, n});
  return plan;
}

/// n = n + 1, all scalars, once the gate is open, unless `culprit` names a rank: that one fails.
TestPlan makeFragile() {
  TestPlan plan(2);
  uint32_t n = plan.slotBuffer(plan.slot(SlotRole::state, "n", ElementType::i64, {}));
  uint32_t gate = plan.slotBuffer(plan.slot(SlotRole::constant, "gate", ElementType::i64, {}));
  uint32_t culprit = plan.slotBuffer(plan.slot(SlotRole::constant, "culprit", ElementType::i64, {}));
  plan.slot(SlotRole::result, "n", ElementType::i64, {}, {}, 0);
  plan.launch("wait_at_gate", 1, {gate});
  plan.launch("fail", 1, {culprit});
  plan.launch("increment", 1, {n, n});
  return plan;
}

/// makeGate, with n as a plain result too.
TestPlan makeReport() {
  TestPlan plan = makeGate();
  uint32_t seen = plan.slotBuffer(plan.slot(SlotRole::result, "seen", ElementType::i64, {1}));
  plan.copy(0, seen);
  return plan;
}

const std::map<std::string, std::function<TestPlan()>> kinds = {
    {"step", [] { return makeStep(2); }},
    {"reference", [] { return makeStep(1); }},
    {"wrong", makeWrong},
    {"echo", makeEcho},
    {"gate", makeGate},
    {"fragile", makeFragile},
    {"report", makeReport},
    {"matmul", makeMatmul},
    {"features", makeFeatures},
};

} // namespace
} // namespace epl::runtime::test

int main(int count, char **arguments) {
  using namespace epl::runtime;
  auto kind = count == 3 ? test::kinds.find(arguments[1]) : test::kinds.end();
  if (kind == test::kinds.end()) {
    std::cerr
        << "usage: EplWriteTestPlan step|reference|wrong|echo|gate|fragile|report|matmul|features FILE\n";
    return 2;
  }
  writePlan(*kind->second().finish(), arguments[2]);
}
