// The slots of a loaded plan: what callers bind, and where each rank finds its part of it.
#ifndef EPL_RUNTIME_SESSION_SLOTS_H
#define EPL_RUNTIME_SESSION_SLOTS_H

#include "runtime/executor/LoadedPlan.h"
#include "runtime/session/SlotLayout.h"

namespace epl::runtime {

/// Slots are the caller's, those of the whole plan, but where a PartSlot names one of a program.
class Slots {
public:
  /// A slot of a program.
  struct PartSlot {
    uint32_t part, slot;
  };

  explicit Slots(const LoadedPlan &plan);

  /// Slots that are arguments come first, then the results.
  size_t numArguments() const { return updates.size(); }
  size_t size() const { return partSlots.size(); }
  /// The result that updates a state argument, or -1.
  int32_t updateOf(size_t argument) const { return updates[argument]; }

  /// The slots of programs that a slot is: several for a batch that several of them read, else one.
  std::span<const PartSlot> partsOf(size_t slot) const { return partSlots[slot]; }
  /// The first of them, and where its ranks find their parts.
  PartSlot ownerOf(size_t slot) const { return partSlots[slot].front(); }
  const SlotLayout &layout(size_t slot) const { return layout(ownerOf(slot)); }
  const SlotLayout &layout(PartSlot slot) const { return layouts[slot.part][slot.slot]; }
  /// The ranks of its owner.
  uint32_t numRanks(size_t slot) const { return plan.program(ownerOf(slot).part).topology().size(); }

  /// The slot of the plan that a program's slot is.
  uint32_t wholeSlot(PartSlot slot) const {
    return plan.plan().parts.empty() ? slot.slot : plan.plan().parts[slot.part]->slots[slot.slot];
  }

private:
  void layOut(uint32_t part);

  const LoadedPlan &plan;
  std::vector<std::vector<SlotLayout>> layouts; // of each part's slots
  std::vector<int32_t> updates;
  std::vector<std::vector<PartSlot>> partSlots; // of each slot
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SLOTS_H
