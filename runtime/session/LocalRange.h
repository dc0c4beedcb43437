// What a rank holds of the dimensions of a slot.
#ifndef EPL_RUNTIME_SESSION_LOCALRANGE_H
#define EPL_RUNTIME_SESSION_LOCALRANGE_H

#include "runtime/plan/model/Topology.h"

#include <cstddef>
#include <span>
#include <vector>

namespace epl::runtime {

/// Elements `begin` to `end` of a dimension of the slot's own shape, and how far apart these are in bytes: in
/// the whole tensor, and in the rank's memory.
struct LocalRange {
  size_t size; ///< of the whole dimension
  size_t begin, extent;
  size_t globalStride, localStride;

  size_t end() const { return begin + extent; }
  bool isWhole() const { return extent == size; }
};

/// Of each dimension, for the rank at `coordinates`.
std::vector<LocalRange> rangesOf(const plan::PlanT &plan, const plan::SlotT &slot,
                                 std::span<const int64_t> coordinates);

/// The index of an axis that the plan is known to have.
size_t axisIndex(const plan::PlanT &plan, const std::string &name);

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_LOCALRANGE_H
