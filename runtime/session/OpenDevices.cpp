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

/// The cards that a string names, the same ones for all plans on them: they share states. `processes`: null
/// if this one is alone.
static std::shared_ptr<DeviceSet> openCuda(const Devices &devices, std::shared_ptr<ProcessGroup> processes) {
  static std::mutex mutex;
  using Key = std::pair<std::string, bool>;
  static auto &known = *new std::map<Key, std::shared_ptr<DeviceSet>>; // the driver may end before
  std::lock_guard<std::mutex> guard(mutex);
  std::shared_ptr<DeviceSet> &opened = known[{devices.str(), processes != nullptr}];
  if (opened)
    return opened;
  static const std::optional<Library> plugin =
      Library::find("plugin for GPUs", "EPL_CUDA", cuda::kPluginFile, {});
  if (!plugin)
    throw Error(std::string("this installation has no plugin for GPUs, ") + cuda::kPluginFile);
  cuda::OpenFunction open = nullptr;
  plugin->bind(cuda::kPluginFunction, open);
  open(devices, std::move(processes), opened);
  return opened;
}

/// Throws Error unless each process can have as many of the devices.
static void checkShares(const Devices &devices, const std::string &text, uint32_t numProcesses) {
  std::string processes = std::to_string(numProcesses) + (numProcesses == 1 ? " process" : " processes");
  if (devices.count % numProcesses != 0)
    throw Error("\"" + text + "\" are divided among " + processes +
                ", expected a number of devices that this divides");
  if (devices.processes != 0 && devices.processes != numProcesses)
    throw Error("\"" + text + "\" has " + std::to_string(devices.processes) + " processes, found " +
                processes);
}

Backend openDevices(const plan::PlanT &plan, const std::string &text,
                    std::shared_ptr<ProcessGroup> processes) {
  checkTarget(plan, text);
  if (processes && processes->numProcesses() == 1)
    processes = nullptr;
  Devices devices = Devices::parse(text);
  checkShares(devices, text, processes ? processes->numProcesses() : 1);
  if (plan.device_kind == "cuda")
    return {openCuda(devices, processes), nullptr, processes};
  static const Backend cpu = {std::make_shared<CpuDevices>(), std::make_shared<InprocCollectives>()};
  if (!processes)
    return cpu;
  Backend divided = {cpu.devices, nullptr, processes};
  divided.collectives = std::make_shared<MessageCollectives>(processes, divided.divide(plan).devicesEach);
  return divided;
}

} // namespace epl::runtime
