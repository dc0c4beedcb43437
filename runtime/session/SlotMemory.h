// Memory for slots that the caller's tensors cannot serve.
#ifndef EPL_RUNTIME_SESSION_SLOTMEMORY_H
#define EPL_RUNTIME_SESSION_SLOTMEMORY_H

#include "runtime/device/cpu/Memory.h"
#include "runtime/session/Slots.h"

namespace epl::runtime {

/// Of the slots of one program, for every step of a session: made once, so that steps allocate nothing.
class SlotMemory {
public:
  /// A buffer that is a slot.
  struct SlotBuffer {
    uint32_t buffer, slot;
  };

  SlotMemory(const Program &program, const Slots &slots);

  std::span<const SlotBuffer> buffers() const { return slotBuffers; }
  /// Memory of a slot on a rank whose block cannot be in the caller's tensor.
  std::byte *scratch(uint32_t slot, uint32_t rank) const { return memory[slot * numRanks + rank].data(); }

private:
  uint32_t numRanks;
  std::vector<SlotBuffer> slotBuffers;
  std::vector<Memory> memory; // of each slot and rank; most is empty
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SLOTMEMORY_H
