#include "runtime/executor/LoadedPlan.h"

#include "runtime/plan/model/Parts.h"
#include "runtime/plan/verify/Verifier.h"

#include <cassert>

namespace epl::runtime {

namespace {

/// Of devices that run a step as a whole: they move data by themselves.
class StepCollectives final : public BoundCollectives {
public:
  explicit StepCollectives(const BoundStep &step) : step(step) {}

  std::unique_ptr<Command> bind(const plan::PlanT &, uint32_t, uint32_t) const override { return nullptr; }
  std::vector<Waiting> waiting() const override { return step.waiting(); }
  uint64_t numMoved() const noexcept override { return step.numMoved(); }

private:
  const BoundStep &step;
};

} // namespace

LoadedPlan::LoadedPlan(std::shared_ptr<const plan::PlanT> plan, Backend backend, LocalRanks ranks)
    : source(std::move(plan)), backend(std::move(backend)), here(std::move(ranks)),
      code(this->backend.devices->load(*source)), transfers(*source),
      boundStep(code->bindStep(transfers, here)) {
  assert(verifyPlan(*source).empty() && "readers and the builder give proved plans");
  if (boundStep)
    boundCollectives = std::make_unique<StepCollectives>(*boundStep);
  else
    boundCollectives = this->backend.collectives->load(*source, transfers, here, *this->backend.devices);
  std::vector<const plan::PlanT *> plans = meshPlansOf(*source);
  for (uint32_t part = 0; part < plans.size(); ++part)
    programs.emplace_back(*plans[part], part, here, boundStep ? nullptr : code.get(), *boundCollectives);
}

} // namespace epl::runtime
