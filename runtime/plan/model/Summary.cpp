#include "runtime/plan/model/Summary.h"

#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <set>

namespace epl::runtime {

/// What a rank keeps between steps; `inHost`: in memory of the host alone.
static uint64_t stateBytesOf(const plan::PlanT &plan, const Mesh &mesh, uint32_t rank, bool inHost) {
  uint64_t bytes = 0;
  for (const auto &slot : plan.slots)
    if (slot->role == plan::SlotRole::state && (slot->in_host || !inHost) &&
        mesh.isOwner(slot->owner.get(), rank))
      bytes += localBytes(plan, *slot);
  return bytes;
}

/// Adds what one rank of a mesh does, has and keeps.
static void addMesh(const plan::PlanT &plan, Summary &summary) {
  Mesh mesh(plan);
  uint64_t receivedBytes = 0;
  for (const auto &command : plan.commands) {
    plan::Action action = command->action.type;
    receivedBytes += costOf(plan, mesh, *command).received;
    summary.launches += action == plan::Action::Launch;
    summary.contractions += action == plan::Action::Contract;
    // An all-reduce is counted by its first half.
    summary.collectives += kindOf(*command) == CommandKind::collective && action != plan::Action::GatherParts;
    summary.transfers += action == plan::Action::Receive || action == plan::Action::Pull;
  }
  summary.arenaBytes = std::max(summary.arenaBytes, plan.arena_size);
  for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
    summary.stateBytes = std::max(summary.stateBytes, stateBytesOf(plan, mesh, rank, /*inHost=*/false));
    summary.hostBytes = std::max(summary.hostBytes, stateBytesOf(plan, mesh, rank, /*inHost=*/true));
  }
  summary.receivedBytes = std::max(summary.receivedBytes, receivedBytes);
}

Summary summarize(const plan::PlanT &plan) {
  Summary summary{.devices = plan.devices, .layout = plan.layout};
  std::set<std::string> kernels; // a part's kernel may be another one's, too
  for (const plan::PlanT *part : meshPlansOf(plan)) {
    addMesh(*part, summary);
    for (const auto &kernel : part->kernels)
      kernels.insert(kernel->symbol);
  }
  summary.kernels = uint32_t(plan.parts.empty() ? plan.kernels.size() : kernels.size());
  return summary;
}

std::string devicesText(const plan::PlanT &plan) {
  return Devices{plan.device_kind, plan.devices, plan.nodes}.str();
}

static std::string axesText(const plan::PlanT &plan) {
  std::string text;
  for (const auto &axis : plan.axes)
    text += (text.empty() ? "" : ", ") + axis->name + " " + std::to_string(axis->size);
  return text;
}

std::string layoutLine(const plan::PlanT &plan) {
  std::string axes = axesText(plan);
  for (const auto &part : plan.parts)
    axes += (axes.empty() ? "[" : " + [") + axesText(*part->plan) + "]";
  return devicesText(plan) + (axes.empty() ? "" : " = " + axes);
}

} // namespace epl::runtime
