// The ranks of a plan, in tables: what Mesh computes, ready for the hot path.
#ifndef EPL_RUNTIME_PLAN_MODEL_TOPOLOGY_H
#define EPL_RUNTIME_PLAN_MODEL_TOPOLOGY_H

#include "runtime/plan/model/Mesh.h"

#include <cstdint>
#include <span>
#include <vector>

namespace epl::runtime {

/// Coordinates of every rank and the groups in which ranks communicate.
class Topology {
public:
  explicit Topology(const plan::PlanT &plan);

  uint32_t size() const { return numRanks; }

  /// One coordinate for each axis of the plan; what a kernel gets as axis_index.
  std::span<const int64_t> coordinates(uint32_t rank) const {
    return {rankCoordinates.data() + size_t(rank) * numAxes, numAxes};
  }

  /// The ranks that communicate with `rank` on a communicator, itself included, in member order.
  std::span<const uint32_t> members(uint32_t communicator, uint32_t rank) const {
    const Groups &groups = communicators[communicator];
    return {groups.ranks.data() + size_t(rank) * groups.size, groups.size};
  }

  /// The place of `rank` among its members.
  uint32_t position(uint32_t communicator, uint32_t rank) const {
    return communicators[communicator].positions[rank];
  }

  /// The number of members of every group of a communicator.
  uint32_t groupSize(uint32_t communicator) const { return communicators[communicator].size; }

private:
  /// For each rank the `size` ranks of its group and its own place there.
  struct Groups {
    uint32_t size;
    std::vector<uint32_t> ranks, positions;
  };

  uint32_t numRanks;
  size_t numAxes;
  std::vector<int64_t> rankCoordinates;
  std::vector<Groups> communicators;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_TOPOLOGY_H
