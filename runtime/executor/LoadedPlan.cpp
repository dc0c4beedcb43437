#include "runtime/executor/LoadedPlan.h"

#include "runtime/plan/model/Parts.h"
#include "runtime/plan/verify/Verifier.h"

#include <cassert>

namespace epl::runtime {

LoadedPlan::LoadedPlan(std::shared_ptr<const plan::PlanT> plan, Backend backend, LocalRanks ranks)
    : source(std::move(plan)), backend(std::move(backend)), here(std::move(ranks)),
      code(this->backend.devices->load(*source)), transfers(*source),
      boundCollectives(this->backend.collectives->load(*source, transfers, here, *this->backend.devices)) {
  assert(verifyPlan(*source).empty() && "readers and the builder give proved plans");
  std::vector<const plan::PlanT *> plans = meshPlansOf(*source);
  for (uint32_t part = 0; part < plans.size(); ++part)
    programs.emplace_back(*plans[part], part, here, *code, *boundCollectives);
}

} // namespace epl::runtime
