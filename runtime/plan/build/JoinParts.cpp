#include "runtime/plan/build/JoinParts.h"

#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/simulate/Predict.h"
#include "runtime/plan/verify/Verifier.h"

namespace epl::runtime {

plan::PlanT joinParts(plan::PlanT common, std::vector<plan::SlotT> slots, std::vector<plan::PartT> parts) {
  common.version = planVersion;
  common.devices = 0;
  for (plan::SlotT &slot : slots)
    common.slots.push_back(std::make_unique<plan::SlotT>(std::move(slot)));
  for (plan::PartT &part : parts) {
    common.devices += part.plan->devices;
    common.parts.push_back(std::make_unique<plan::PartT>(std::move(part)));
  }
  requireValid(common);
  common.layout = layoutLine(common) + scheduleText(common);
  return common;
}

} // namespace epl::runtime
