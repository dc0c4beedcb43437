#include "runtime/session/OpenDevices.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Inproc.h"
#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/device/cpu/Library.h"
#include "runtime/device/cuda/Plugin.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Summary.h"

#include <map>
#include <mutex>

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

/// The cards that a string names, the same ones for all plans on them: they share states.
static std::shared_ptr<DeviceSet> openCuda(const Devices &devices) {
  static std::mutex mutex;
  static auto &known = *new std::map<std::string, std::shared_ptr<DeviceSet>>; // the driver may end before
  std::lock_guard<std::mutex> guard(mutex);
  std::shared_ptr<DeviceSet> &opened = known[devices.str()];
  if (opened)
    return opened;
  static const std::optional<Library> plugin =
      Library::find("plugin for GPUs", "EPL_CUDA", cuda::kPluginFile, {});
  if (!plugin)
    throw Error(std::string("this installation has no plugin for GPUs, ") + cuda::kPluginFile);
  cuda::OpenFunction open = nullptr;
  plugin->bind(cuda::kPluginFunction, open);
  open(devices, opened);
  return opened;
}

Backend openDevices(const plan::PlanT &plan, const std::string &text,
                    std::shared_ptr<ProcessGroup> processes) {
  checkTarget(plan, text);
  if (plan.device_kind == "cuda") {
    if (processes && processes->numProcesses() > 1)
      throw Error("GPUs of several processes are not supported yet");
    return {openCuda(Devices::parse(text)), nullptr};
  }
  static const Backend cpu = {std::make_shared<CpuDevices>(), std::make_shared<InprocCollectives>()};
  if (!processes || processes->numProcesses() == 1)
    return cpu;
  if (plan.devices % processes->numProcesses() != 0)
    throw Error("\"" + text + "\" are divided among " + std::to_string(processes->numProcesses()) +
                " processes, expected a number of devices that this divides");
  Backend divided = {cpu.devices, nullptr, processes};
  divided.collectives = std::make_shared<MessageCollectives>(processes, divided.divide(plan).devicesEach);
  return divided;
}

} // namespace epl::runtime
