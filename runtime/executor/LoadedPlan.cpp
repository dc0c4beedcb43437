#include "runtime/executor/LoadedPlan.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/verify/Verifier.h"

#include <cassert>
#include <numeric>

namespace epl::runtime {

/// Checks what can be checked before anything is made of the plan.
static void checkTarget(const plan::PlanT &plan, const std::string &text) {
  Devices devices = Devices::parse(text);
  auto count = [](uint32_t n) { return std::to_string(n) + (n == 1 ? " device" : " devices"); };
  if (plan.device_kind != devices.kind)
    throw Error("the plan is for devices of kind \"" + plan.device_kind + "\", found \"" + text + "\"");
  if (plan.devices != devices.count)
    throw Error("the plan is for " + count(plan.devices) +
                (plan.layout.empty() ? "" : " (" + plan.layout + ")") + ", found " + count(devices.count) +
                " (\"" + text + "\")");
  if (plan.nodes > 1 && plan.nodes != devices.nodes)
    throw Error("the plan is for \"" + devicesText(plan) + "\", as it places stages on nodes, found \"" +
                text + "\"");
  checkCpuFeatures(plan.target_features);
}

static std::shared_ptr<const plan::PlanT> checked(std::shared_ptr<const plan::PlanT> plan,
                                                  const std::string &devices) {
  checkTarget(*plan, devices);
  assert(verifyPlan(*plan).empty() && "readers and the builder give proved plans");
  return plan;
}

LoadedPlan::LoadedPlan(std::shared_ptr<const plan::PlanT> plan, const std::string &devices)
    : source(checked(std::move(plan), devices)), image(source->image), transfers(*source) {
  std::vector<const plan::PlanT *> plans = meshPlansOf(*source);
  for (uint32_t part = 0; part < plans.size(); ++part)
    programs.emplace_back(*plans[part], part, image, transfers);
  for (const auto &part : source->parts)
    this->devices.push_back(placesOf(*part));
  if (source->parts.empty()) {
    this->devices.emplace_back(source->devices);
    std::iota(this->devices.back().begin(), this->devices.back().end(), 0);
  }
  for (std::vector<uint32_t> &ranks : this->devices)
    for (uint32_t &device : ranks)
      device = deviceAt(*source, device);
}

} // namespace epl::runtime
