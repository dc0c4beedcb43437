// Which ranks of a plan are in this process.

#ifndef EPL_RUNTIME_PLAN_MODEL_LOCALRANKS_H
#define EPL_RUNTIME_PLAN_MODEL_LOCALRANKS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <span>
#include <vector>

namespace epl::runtime {

/// The device that each rank of each part is, and those that are here. A plan without parts is its part 0.
class LocalRanks {
public:
  /// The ranks on `devices` of a plan that the verifier accepts: at least one, of those that the plan has.
  LocalRanks(const plan::PlanT &plan, const std::vector<uint32_t> &devices);
  /// All of them.
  static LocalRanks all(const plan::PlanT &plan);

  /// How many of the plan's devices are here.
  uint32_t numDevices() const { return deviceCount; }
  /// How many ranks a part has, wherever they are.
  uint32_t count(uint32_t part) const { return uint32_t(parts[part].devices.size()); }
  /// The ranks of a part that are here, ascending.
  std::span<const uint32_t> of(uint32_t part) const { return parts[part].here; }
  bool has(uint32_t part, uint32_t rank) const { return parts[part].places[rank] >= 0; }
  /// The device that a rank is, wherever that is.
  uint32_t device(uint32_t part, uint32_t rank) const { return parts[part].devices[rank]; }
  /// Which of the devices that are here a rank is, by their order; -1 if it is elsewhere.
  int32_t place(uint32_t part, uint32_t rank) const { return parts[part].places[rank]; }

private:
  struct Part {
    std::vector<uint32_t> devices; // of each rank
    std::vector<int32_t> places;   // of each rank
    std::vector<uint32_t> here;
  };

  uint32_t deviceCount;
  std::vector<Part> parts;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_LOCALRANKS_H
