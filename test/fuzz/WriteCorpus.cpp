// Writes the seeds of the corpus: plans of every shape, small and without code.
//
//   EplWriteCorpus FOLDER [PLAN ...]     the built plans of test/unit/plan, and these files without their
//   image

#include "test/unit/plan/Plans.h"

#include "runtime/plan/format/Writer.h"
#include "runtime/plan/verify/ReadVerified.h"

#include <algorithm>
#include <filesystem>

namespace epl::runtime::test {
namespace {

/// A step without kernels of its own, which loads without an image: a product, its sum, a gather, a copy.
plan::PlanT libraryPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 2 * 96, {"data"});
  uint32_t w = maker.argument("w", plan::SlotRole::constant, 80);
  uint32_t sum = maker.slot("sum", plan::SlotRole::result, 120);
  uint32_t rows = maker.slot("rows", plan::SlotRole::result, 2 * 96);
  uint32_t y = maker.buffer("y", 120), all = maker.buffer("all", 2 * 96);
  plan::ContractT contract;
  contract.type = plan::ElementType::f32;
  contract.a = x, contract.b = w, contract.c = y;
  contract.m = 3, contract.n = 5, contract.k = 4;
  contract.lda = 4, contract.ldb = 5, contract.ldc = 5;
  contract.batch = {plan::BatchDim(2, 12, 0, 15)};
  maker.contract({.name = "product", .location = "", .work = ""}, std::move(contract));
  maker.sum("sum", data, y, y);
  maker.gather("gather", data, x, all, 2);
  maker.setResult(sum, y);
  maker.setResult(rows, all);
  return maker.finish();
}

} // namespace
} // namespace epl::runtime::test

int main(int count, char **arguments) {
  using namespace epl::runtime;
  if (count < 2)
    return 2;
  std::filesystem::path folder = arguments[1];
  auto write = [&](const plan::PlanT &plan, std::string name) {
    std::ranges::replace(name, ' ', '_');
    writePlan(plan, folder / (name + ".eplan"));
  };
  write(test::libraryPlan(), "library");
  write(test::sideBySidePlan(), "side by side");
  for (const test::NamedPlan &named : test::allPlans())
    write(named.plan, named.name);
  for (int i = 2; i < count; ++i) {
    plan::PlanT plan = readPlan(arguments[i]);
    plan.images.clear();
    write(plan, std::filesystem::path(arguments[i]).stem());
  }
}
