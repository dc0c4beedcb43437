// Memory for slots that the caller's tensors cannot serve.
#ifndef EPL_RUNTIME_SESSION_SLOTMEMORY_H
#define EPL_RUNTIME_SESSION_SLOTMEMORY_H

#include "runtime/session/Slots.h"

namespace epl::runtime {

/// Of the slots of one program, for every step of a session: made once, so that steps allocate nothing. That
/// of an argument comes with the first tensor of the host for it: states and constants may never need any.
class SlotMemory {
public:
  /// A buffer that is a slot, or a view of one: where it begins there.
  struct SlotBuffer {
    uint32_t buffer, slot;
    uint64_t offset;
  };

  /// The arguments outlive it. Throws Error if there is no memory left.
  SlotMemory(const LoadedPlan &plan, uint32_t part, const Slots &slots);

  /// Takes the memory that a tensor of the host needs for an argument; before the step that has it is queued.
  /// Steps that run may use that of other slots. Throws Error if there is none left.
  void provide(uint32_t slot);

  std::span<const SlotBuffer> buffers() const { return slotBuffers; }
  /// Memory of a slot on a rank that is here and whose block cannot be in the caller's tensor; of an argument
  /// that was provided for.
  Allocation &scratch(uint32_t slot, uint32_t rank) const { return *memory[slot * numRanks + rank]; }
  /// Where the host puts what a rank's block of an argument becomes, or finds what a rank gives of a result;
  /// null if there is no such memory, or if the devices copy while somebody waits.
  ArgumentStage *argumentStage(uint32_t slot, uint32_t rank) const {
    return argumentStages[slot * numRanks + rank].get();
  }
  ResultStage *resultStage(uint32_t slot, uint32_t rank) const {
    return resultStages[slot * numRanks + rank].get();
  }
  /// Copies what a rank gives of a result into the whole tensor, if it was not written there.
  void giveTo(std::byte *whole, uint32_t slot, uint32_t rank) const;

private:
  void allocate(uint32_t slot, uint32_t rank);

  const LoadedPlan &loaded;
  const uint32_t part;
  const Slots &slots;
  const uint32_t numRanks;
  std::vector<SlotBuffer> slotBuffers;
  // Of each slot and rank; null where none is needed.
  std::vector<std::unique_ptr<Allocation>> memory;
  std::vector<std::unique_ptr<ArgumentStage>> argumentStages;
  std::vector<std::unique_ptr<ResultStage>> resultStages;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SLOTMEMORY_H
