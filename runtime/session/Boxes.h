// What a rank holds of a tensor, as boxes of the caller's tensor.
#ifndef EPL_RUNTIME_SESSION_BOXES_H
#define EPL_RUNTIME_SESSION_BOXES_H

#include "runtime/plan/model/Topology.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace epl::runtime {

/// A box of the caller's tensor, and where a rank has it.
struct Box {
  /// What it is of a dimension: elements `begin` to `begin + extent`, which are `stride` bytes apart in the
  /// rank's memory.
  struct Range {
    size_t begin, extent, stride;
    bool operator==(const Range &) const = default;
  };
  std::vector<Range> dims; ///< as the caller has them
  size_t offset = 0;       ///< of its first element in the rank's memory, in bytes

  bool operator==(const Box &) const = default;
};

/// The boxes of a slot that the rank at `coordinates` holds; together its whole block. One, or several where
/// the caller has a dimension that the plan has as several (`caller_shape`), or parts that are split each by
/// itself (`caller_parts`). Boxes without elements are left out. Nothing if the caller's dimensions are no
/// products of the slot's, as no compiler makes them.
std::optional<std::vector<Box>> boxesOf(const plan::PlanT &plan, const plan::SlotT &slot,
                                        std::span<const int64_t> coordinates);

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_BOXES_H
