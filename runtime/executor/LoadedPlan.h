// A plan that is loaded on devices: a program for each of its meshes, and what they send each other.
#ifndef EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H
#define EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H

#include "runtime/executor/Program.h"

#include <deque>

namespace epl::runtime {

/// Everything about a plan that no step changes. Slots are the caller's: those of the whole plan.
class LoadedPlan {
public:
  /// A slot of a program.
  struct PartSlot {
    uint32_t part, slot;
  };

  /// `plan` has passed the verifier, as every plan that the reader gives has. Throws Error if it is for other
  /// devices or another CPU, or if a kernel or a library is missing.
  LoadedPlan(std::shared_ptr<const plan::PlanT> plan, const std::string &devices);
  LoadedPlan(const LoadedPlan &) = delete;

  const plan::PlanT &plan() const { return *source; }
  uint32_t numDevices() const { return source->devices; }

  /// One for each mesh: the plan's parts, in order.
  uint32_t numPrograms() const { return uint32_t(programs.size()); }
  const Program &program(uint32_t part) const { return programs[part]; }
  /// The device that a rank of a part is.
  uint32_t device(uint32_t part, uint32_t rank) const { return devices[part][rank]; }
  const Channels &channels() const { return transfers; }

  /// Slots that are arguments come first, then the results.
  size_t numArguments() const { return arguments; }
  size_t numSlots() const { return source->slots.size(); }
  /// The result that updates a state argument, or -1.
  int32_t updateOf(size_t argument) const { return updates[argument]; }

  /// The slots of programs that a slot is: several for a batch that several of them read, else one.
  std::span<const PartSlot> partsOf(size_t slot) const { return partSlots[slot]; }
  /// The first of them, and where its ranks find their parts.
  PartSlot ownerOf(size_t slot) const { return partSlots[slot].front(); }
  const SlotLayout &layout(size_t slot) const {
    return programs[ownerOf(slot).part].layout(ownerOf(slot).slot);
  }
  uint32_t numRanks(size_t slot) const { return programs[ownerOf(slot).part].topology().size(); }
  /// The slot of the plan that a program's slot is.
  uint32_t wholeSlot(PartSlot slot) const {
    return source->parts.empty() ? slot.slot : source->parts[slot.part]->slots[slot.slot];
  }

private:
  void bindSlots();

  std::shared_ptr<const plan::PlanT> source;
  Image image;
  Channels transfers;
  std::deque<Program> programs;
  std::vector<std::vector<uint32_t>> devices; // of the ranks of each part
  size_t arguments = 0;
  std::vector<int32_t> updates;
  std::vector<std::vector<PartSlot>> partSlots; // of each slot
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H
