// Memory for slots that the caller's tensors cannot serve.
#ifndef EPL_RUNTIME_SESSION_SLOTMEMORY_H
#define EPL_RUNTIME_SESSION_SLOTMEMORY_H

#include "runtime/session/Slots.h"

namespace epl::runtime {

/// Of the slots of one program, for every step of a session: made once, so that steps allocate nothing.
class SlotMemory {
public:
  /// A buffer that is a slot, or a view of one: where it begins there.
  struct SlotBuffer {
    uint32_t buffer, slot;
    uint64_t offset;
  };

  SlotMemory(const LoadedPlan &plan, uint32_t part, const Slots &slots);

  std::span<const SlotBuffer> buffers() const { return slotBuffers; }
  /// Memory of a slot on a rank that is here and whose block cannot be in the caller's tensor.
  Allocation &scratch(uint32_t slot, uint32_t rank) const { return *memory[slot * numRanks + rank]; }

private:
  uint32_t numRanks;
  std::vector<SlotBuffer> slotBuffers;
  std::vector<std::unique_ptr<Allocation>> memory; // of each slot and rank; null where none is needed
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SLOTMEMORY_H
