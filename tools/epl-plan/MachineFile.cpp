#include "MachineFile.h"

#include "Link.h"
#include "Machine.h"

#include "runtime/Error.h"
#include "runtime/machine/MachineFile.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <unistd.h>

namespace epl::runtime::tool {

/// A figure of a file: whole, and at least 1.
static int64_t figure(double value) { return std::max<int64_t>(1, std::llround(value)); }

/// A product counts a multiply-add as two operations.
static int64_t multiplyAdds(plan::ElementType type) { return figure(measureGflops(type) * 1e9 / 2); }

static double physicalBytes() { return double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE)); }

std::string measureMachine(const Devices &devices) {
  if (devices.count < 2)
    throw Error("devices are \"" + devices.str() +
                "\", expected two or more: what connects them is measured, too");
  Link link = measureLink(devices.count);
  nlohmann::ordered_json machine = {
      {"kind", devices.kind},
      {"compute",
       {{"f64", multiplyAdds(plan::ElementType::f64)},
        {"f32", multiplyAdds(plan::ElementType::f32)},
        {"f16", multiplyAdds(plan::ElementType::bf16)}}},
      {"memory",
       {{"bytes", figure(physicalBytes() / devices.count)},
        {"bytes_per_second", figure(measureGbps() * 1e9)},
        {"latency_ns", figure(measureLatencyNanoseconds())}}},
      {"within_process",
       {{"bytes_per_second", figure(link.gbps * 1e9)}, {"latency_ns", figure(link.latencyNanoseconds)}}}};
  return machine.dump(2) + "\n";
}

std::string tableOfMachine(const std::string &kind) {
  const machine::Machine *table = machine::findMachine(kind);
  if (!table)
    throw Error("machine \"" + kind + "\" is none of " + machine::machineKinds());
  return machine::machineJson(*table);
}

} // namespace epl::runtime::tool
