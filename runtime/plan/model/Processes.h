// Which process of a run has which devices.
#ifndef EPL_RUNTIME_PLAN_MODEL_PROCESSES_H
#define EPL_RUNTIME_PLAN_MODEL_PROCESSES_H

#include <cstdint>
#include <numeric>
#include <vector>

namespace epl::runtime {

/// The devices of each process: neighbours, as many for each.
struct Processes {
  uint32_t own, devicesEach;

  uint32_t of(uint32_t device) const { return device / devicesEach; }
  /// Whether all of so many devices are here.
  bool areOne(uint32_t numDevices) const { return numDevices == devicesEach; }
  /// Those of this process.
  std::vector<uint32_t> ownDevices() const {
    std::vector<uint32_t> devices(devicesEach);
    std::iota(devices.begin(), devices.end(), own * devicesEach);
    return devices;
  }
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_PROCESSES_H
