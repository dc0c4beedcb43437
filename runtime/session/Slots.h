// The slots of a loaded plan: what callers bind, and where each rank finds its part of it.
#ifndef EPL_RUNTIME_SESSION_SLOTS_H
#define EPL_RUNTIME_SESSION_SLOTS_H

#include "runtime/executor/LoadedPlan.h"
#include "runtime/session/SlotLayout.h"
#include "runtime/session/State.h"

namespace epl::runtime {

/// Slots are the caller's, those of the whole plan, but where a PartSlot names one of a program.
class Slots {
public:
  /// A slot of a program.
  struct PartSlot {
    uint32_t part, slot;
  };

  /// `keepsResults`: all results stay on the devices, not only states.
  explicit Slots(const LoadedPlan &plan, bool keepsResults = false);

  /// Slots that are arguments come first, then the results.
  size_t numArguments() const { return updates.size(); }
  size_t size() const { return partSlots.size(); }
  /// The result that updates a state argument, or -1.
  int32_t updateOf(size_t argument) const { return updates[argument]; }

  /// The slots of programs that a slot is: several for a batch that several of them read, and where each has
  /// some of the rows; else one.
  std::span<const PartSlot> partsOf(size_t slot) const { return partSlots[slot]; }
  /// Whether each element is held by one program.
  bool isHeldOnce(size_t slot) const { return kinds[slot]->pieces.size() == partSlots[slot].size(); }
  /// The first of them, and where its ranks find their parts.
  PartSlot ownerOf(size_t slot) const { return partSlots[slot].front(); }
  const SlotLayout &layout(size_t slot) const { return layout(ownerOf(slot)); }
  const SlotLayout &layout(PartSlot slot) const { return parts[slot.part][slot.slot].layout; }
  /// How the ranks of all programs hold a state of it; of a batch those of its owner.
  const std::shared_ptr<const StorageKind> &kind(size_t slot) const { return kinds[slot]; }
  /// Which piece of the state a program's slot is.
  uint32_t pieceOf(PartSlot slot) const { return parts[slot.part][slot.slot].piece; }
  /// Whether commands find the rank's block where it is in the caller's tensor.
  bool isDirect(PartSlot slot, uint32_t rank) const {
    const Held &held = parts[slot.part][slot.slot];
    return held.isDirect && (held.isArgument || gives(slot, rank));
  }
  /// Whether a rank that is here gives its block of a state or result, of all who have it.
  bool gives(PartSlot slot, uint32_t rank) const {
    return kinds[wholeSlot(slot)]->pieces[pieceOf(slot)].gives[rank];
  }
  /// Whether what a call gives for a result stays in parts on the devices: a state, any result of a session
  /// that keeps them, or what no process has all of. What the front end has added, and what is pushed, is for
  /// the host.
  bool isKept(size_t slot) const {
    if (plan.plan().slots[slot]->role == plan::SlotRole::pushed)
      return false;
    return plan.plan().slots[slot]->updates >= 0 || (keepsResults && !plan.plan().slots[slot]->hidden) ||
           (plan.ranks().numDevices() < plan.plan().devices && !kinds[slot]->isReplicated());
  }

  /// Whether all ranks that are here may have one memory for an argument: they hold it whole and alike, and
  /// it is never written, or by one of them alone, behind all that the others read of it (SharedStates.h).
  bool isShared(size_t slot) const { return shared[slot]; }

  /// The slot of the plan that a program's slot is.
  uint32_t wholeSlot(PartSlot slot) const {
    return plan.plan().parts.empty() ? slot.slot : plan.plan().parts[slot.part]->slots[slot.slot];
  }

private:
  void layOut(uint32_t part);
  std::shared_ptr<const StorageKind> findKind(size_t slot);
  void findShared(uint32_t part);
  RankDevices ranksOf(uint32_t part) const;
  std::vector<uint32_t> devicesOf(uint32_t part) const;

  /// A slot of a program. Several ranks may read one block of an argument where it is; of those that hold a
  /// block of a result, one gives it.
  struct Held {
    SlotLayout layout;
    bool isDirect, isArgument;
    uint32_t piece = 0; ///< of those of its slot
  };

  const LoadedPlan &plan;
  bool keepsResults;
  std::vector<std::vector<Held>> parts; // of each part's slots
  std::vector<int32_t> updates;
  std::vector<bool> shared;                              // of each slot
  std::vector<std::shared_ptr<const StorageKind>> kinds; // of each slot
  std::vector<std::vector<PartSlot>> partSlots;          // of each slot
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SLOTS_H
