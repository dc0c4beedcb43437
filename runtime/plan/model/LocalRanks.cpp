#include "runtime/plan/model/LocalRanks.h"

#include "runtime/plan/model/Parts.h"

#include <cassert>
#include <numeric>

namespace epl::runtime {

/// From 0 to `count`.
static std::vector<uint32_t> countTo(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

LocalRanks LocalRanks::all(const plan::PlanT &plan) { return {plan, countTo(plan.devices)}; }

LocalRanks::LocalRanks(const plan::PlanT &plan, const std::vector<uint32_t> &devices)
    : deviceCount(uint32_t(devices.size())) {
  assert(!devices.empty() && "a process has a device");
  std::vector<int32_t> places(plan.devices, -1);
  for (uint32_t device : devices) {
    assert(device < plan.devices && places[device] < 0 && "each is a device of the plan, named once");
    places[device] = 0;
  }
  for (int32_t next = 0; int32_t &place : places)
    if (place == 0)
      place = next++;
  for (const auto &part : plan.parts)
    parts.push_back({placesOf(*part), {}, {}});
  if (plan.parts.empty())
    parts.push_back({countTo(plan.devices), {}, {}});
  for (Part &part : parts)
    for (uint32_t rank = 0; rank < part.devices.size(); ++rank) {
      part.devices[rank] = deviceAt(plan, part.devices[rank]);
      part.places.push_back(places[part.devices[rank]]);
      if (part.places.back() >= 0)
        part.here.push_back(rank);
    }
}

} // namespace epl::runtime
