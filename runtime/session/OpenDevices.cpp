#include "runtime/session/OpenDevices.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Inproc.h"
#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Summary.h"

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
}

Backend openDevices(const plan::PlanT &plan, const std::string &text) {
  checkTarget(plan, text);
  static const Backend cpu = {std::make_shared<CpuDevices>(), std::make_shared<InprocCollectives>()};
  return cpu; // Devices::parse knows no other kind
}

} // namespace epl::runtime
