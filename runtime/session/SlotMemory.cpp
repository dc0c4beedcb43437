#include "runtime/session/SlotMemory.h"

namespace epl::runtime {

/// State has storage of its own. An argument from the host needs scratch if it is not contiguous there; a
/// result also on the ranks that hold a block that another rank gives.
static bool needsScratch(const plan::SlotT &slot, const SlotLayout &layout, uint32_t rank) {
  bool isResult = slot.role == plan::SlotRole::result && slot.updates < 0;
  bool isHostArgument = slot.role == plan::SlotRole::batch || slot.role == plan::SlotRole::constant;
  return (isHostArgument && !layout.isContiguous()) ||
         (isResult && (!layout.isContiguous() || !layout.isPrimary(rank)));
}

SlotMemory::SlotMemory(const Program &program, const Slots &slots) : numRanks(program.topology().size()) {
  const plan::PlanT &plan = program.plan();
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (plan.buffers[buffer]->slot >= 0)
      slotBuffers.push_back({buffer, uint32_t(plan.buffers[buffer]->slot)});
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
    const SlotLayout &layout = slots.layout({program.part(), slot});
    for (uint32_t rank = 0; rank < numRanks; ++rank)
      memory.emplace_back(needsScratch(*plan.slots[slot], layout, rank) ? layout.localBytes() : 0);
  }
}

} // namespace epl::runtime
