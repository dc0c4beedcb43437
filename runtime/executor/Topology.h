// The ranks of a plan: their coordinates and the groups in which they communicate.
#pragma once

#include "runtime/plan/plan_generated.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime {

/// A mesh of ranks. Ranks count the spatial axes row-major, the first axis major; temporal axes run one after
/// another on every rank, whose coordinate there is 0.
class Topology {
public:
  /// Throws Error if the axes do not make `plan.devices` ranks or a communicator names no spatial axis of
  /// theirs.
  explicit Topology(const plan::PlanT &plan);

  uint32_t size() const { return numRanks; }

  /// One coordinate for each axis of the plan, temporal ones included.
  std::span<const int64_t> coordinates(uint32_t rank) const {
    return {rankCoordinates.data() + size_t(rank) * axes.size(), axes.size()};
  }

  /// The ranks that communicate with `rank` on a communicator, itself included, in member order.
  std::span<const uint32_t> members(uint32_t communicator, uint32_t rank) const {
    const Groups &groups = communicators[communicator];
    return {groups.ranks.data() + size_t(groups.groupOf[rank]) * groups.size, groups.size};
  }

  /// The place of `rank` among its members.
  uint32_t position(uint32_t communicator, uint32_t rank) const {
    return communicators[communicator].positionOf[rank];
  }

  /// The number of members of every group of a communicator.
  uint32_t groupSize(uint32_t communicator) const { return communicators[communicator].size; }

  /// The index of the axis `name`; throws Error if there is none.
  uint32_t axisIndex(const std::string &name) const;

  uint32_t numAxes() const { return uint32_t(axes.size()); }
  uint32_t axisSize(uint32_t axis) const { return axes[axis].size; }
  bool isTemporal(uint32_t axis) const { return axes[axis].temporal; }

private:
  struct Axis {
    std::string name;
    uint32_t size;
    bool temporal;
  };
  /// All groups of one communicator: `size` ranks each, one group after another.
  struct Groups {
    uint32_t size;
    std::vector<uint32_t> ranks;
    std::vector<uint32_t> groupOf, positionOf;
  };

  void numberRanks();
  Groups formGroups(const std::vector<std::string> &axisNames) const;

  std::vector<Axis> axes;
  uint32_t numRanks = 1;
  std::vector<int64_t> rankCoordinates;
  std::vector<Groups> communicators;
};

} // namespace epl::runtime
