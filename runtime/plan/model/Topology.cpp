#include "runtime/plan/model/Topology.h"

namespace epl::runtime {

Topology::Topology(const plan::PlanT &plan) : numRanks(plan.devices), numAxes(plan.axes.size()) {
  Mesh mesh(plan);
  for (uint32_t rank = 0; rank < numRanks; ++rank)
    for (int64_t coordinate : mesh.coordinates(rank))
      rankCoordinates.push_back(coordinate);
  for (uint32_t communicator = 0; communicator < plan.communicators.size(); ++communicator) {
    Groups &groups = communicators.emplace_back();
    groups.size = mesh.memberCount(communicator);
    for (uint32_t rank = 0; rank < numRanks; ++rank) {
      for (uint32_t member : mesh.members(communicator, rank))
        groups.ranks.push_back(member);
      groups.positions.push_back(mesh.memberIndex(communicator, rank));
    }
  }
}

} // namespace epl::runtime
