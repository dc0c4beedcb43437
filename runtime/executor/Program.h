// A plan that is loaded on devices: checked, bound to code, its edges turned round.
#ifndef EPL_RUNTIME_EXECUTOR_PROGRAM_H
#define EPL_RUNTIME_EXECUTOR_PROGRAM_H

#include "runtime/executor/Actions.h"
#include "runtime/executor/SlotLayout.h"

#include <memory>

namespace epl::runtime {

/// Everything about a plan that no step changes. Commands are those of the plan, the same for every rank.
class Program {
public:
  /// A command that waits for another: on the same rank, or (communicator >= 0) on all members' ranks.
  struct Successor {
    uint32_t command;
    int32_t communicator;
  };

  /// `plan` has passed the verifier, as every plan that the reader gives has. Throws Error if it is for other
  /// devices or another CPU, or if a kernel or a library is missing.
  Program(std::shared_ptr<const plan::PlanT> plan, const std::string &devices);

  const plan::PlanT &plan() const { return *source; }
  const Topology &topology() const { return ranks; }
  const Actions &actions() const { return bound; }
  const SlotLayout &layout(size_t slot) const { return layouts[slot]; }

  /// How many instances of commands, over all ranks, an instance of `command` waits for.
  uint32_t numWaits(uint32_t command) const { return waits[command]; }

  std::span<const Successor> successors(uint32_t command) const {
    return {successorList.data() + successorBegin[command],
            successorBegin[command + 1] - successorBegin[command]};
  }

  /// Slots that are arguments come first, then the results.
  size_t numArguments() const { return arguments; }
  size_t numSlots() const { return layouts.size(); }
  /// The result that updates a state argument, or -1.
  int32_t updateOf(size_t argument) const { return updates[argument]; }

private:
  void findUpdates();
  void turnEdges();

  std::shared_ptr<const plan::PlanT> source;
  Topology ranks;
  std::vector<SlotLayout> layouts;
  Actions bound;
  size_t arguments = 0;
  std::vector<int32_t> updates;
  std::vector<uint32_t> waits, successorBegin;
  std::vector<Successor> successorList;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_PROGRAM_H
