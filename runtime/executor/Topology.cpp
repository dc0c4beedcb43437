#include "runtime/executor/Topology.h"

#include "runtime/Error.h"

#include <algorithm>
#include <map>

namespace epl::runtime {

Topology::Topology(const plan::PlanT &plan) {
  for (const auto &axis : plan.axes) {
    axes.push_back({axis->name, axis->size, axis->temporal});
    if (axis->temporal)
      continue;
    if (axis->size == 0 || axis->size > plan.devices / numRanks)
      throw Error("the axes of the plan do not fit its " + std::to_string(plan.devices) + " devices");
    numRanks *= axis->size;
  }
  if (numRanks != plan.devices)
    throw Error("the axes of the plan make " + std::to_string(numRanks) + " ranks, expected " +
                std::to_string(plan.devices));
  numberRanks();
  for (const auto &communicator : plan.communicators)
    communicators.push_back(formGroups(communicator->axes));
}

uint32_t Topology::axisIndex(const std::string &name) const {
  for (uint32_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis].name == name)
      return axis;
  throw Error("the plan has no mesh axis \"" + name + "\"");
}

void Topology::numberRanks() {
  rankCoordinates.resize(size_t(numRanks) * axes.size());
  for (uint32_t rank = 0; rank < numRanks; ++rank) {
    uint32_t rest = rank;
    for (size_t axis = axes.size(); axis-- > 0;)
      if (!axes[axis].temporal) {
        rankCoordinates[rank * axes.size() + axis] = rest % axes[axis].size;
        rest /= axes[axis].size;
      }
  }
}

Topology::Groups Topology::formGroups(const std::vector<std::string> &axisNames) const {
  // Ranks in one group agree on every axis but the communicator's own, which give the place in the group.
  std::vector<uint32_t> own;
  for (const std::string &name : axisNames) {
    own.push_back(axisIndex(name));
    if (axes[own.back()].temporal)
      throw Error("a communicator of the plan runs over the temporal axis \"" + name + "\"");
    if (std::count(own.begin(), own.end(), own.back()) > 1)
      throw Error("a communicator of the plan names the axis \"" + name + "\" twice");
  }
  Groups groups{1, std::vector<uint32_t>(numRanks), {}, {}};
  for (uint32_t axis : own)
    groups.size *= axes[axis].size;
  std::map<std::vector<int64_t>, uint32_t> groupIndex;
  for (uint32_t rank = 0; rank < numRanks; ++rank) {
    auto coordinate = coordinates(rank);
    std::vector<int64_t> others(coordinate.begin(), coordinate.end());
    uint32_t position = 0;
    for (uint32_t axis : own) {
      position = position * axes[axis].size + uint32_t(coordinate[axis]);
      others[axis] = 0;
    }
    uint32_t group = groupIndex.try_emplace(others, uint32_t(groupIndex.size())).first->second;
    groups.groupOf.push_back(group);
    groups.positionOf.push_back(position);
    groups.ranks[group * groups.size + position] = rank;
  }
  return groups;
}

} // namespace epl::runtime
