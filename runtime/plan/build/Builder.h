// Builds plans: the interface between the compiler (passes/emit) and the plan's C++ objects.
//
// The caller states what is computed: slots, buffers, kernels, and commands in program order, each
// meaning what it means when all commands of all ranks run one after another. `finish` does the rest: it
// puts results into their slots, has pulled arguments come and pushed results go (Outside.h), derives the
// waits that keep that meaning when lanes and ranks run freely (Edges.h), lays out the arena (Memory.h) and
// proves the outcome (Verifier.h).

#ifndef EPL_RUNTIME_PLAN_BUILD_BUILDER_H
#define EPL_RUNTIME_PLAN_BUILD_BUILDER_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/schedule/Table.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace epl::runtime {

/// What people see of a command, in traces and errors.
struct CommandInfo {
  std::string name;     // of the kernel or the collective
  std::string location; // the user's source line, file:line
  std::string work;     // task graph and kind of work: tg0.forward
  std::string cause{};  // of a collective: which tensor moves, and which ops are why
};

/// Indices that the functions return name things until `finish`, which drops buffers that nothing uses.
class Builder {
public:
  /// `deviceKind` is "cpu" or "cuda".
  explicit Builder(std::string deviceKind);

  // The mesh. Axes come first, in mesh order.
  uint32_t addAxis(std::string name, uint32_t size);
  /// Equal lists of axes share one communicator and one lane.
  uint32_t addCommunicator(const std::vector<std::string> &axes);

  // External memory: the step's arguments in order, then its results in order.
  uint32_t addSlot(plan::SlotT slot);
  /// The buffer of a slot that is an argument.
  uint32_t slotBuffer(uint32_t slot) const;
  /// Whether a buffer, or that which it is a view of, is an argument's.
  bool isArgument(uint32_t buffer) const;
  // A pulled argument is there before its readers, a pushed result is handed over behind what makes it; the
  // commands that do so are added by finish.
  /// Says that the value of the result `slot` is what `buffer` holds at the end of the program: a buffer of
  /// addBuffer or of any argument. Needed once for every result slot.
  void setResult(uint32_t slot, uint32_t buffer);

  /// Memory of one local tensor, `size` bytes; its place is up to finish.
  uint32_t addBuffer(std::string name, uint64_t size);
  /// The `size` bytes of `buffer`, which may be a view, that begin at `offset`, a multiple of `size`. For
  /// commands that read them.
  uint32_t addView(std::string name, uint32_t buffer, uint64_t offset, uint64_t size);
  uint32_t addKernel(plan::KernelT kernel);

  /// The commands that are added from now on wait for the one before them on their device.
  void setSequential(bool isSequential) { this->isSequential = isSequential; }

  /// The collectives of each communicator take so many lanes in turn, at least 1, so that as many may be
  /// under way.
  void setNumCommunicators(uint32_t count) { numCommunicators = count; }

  /// States are in memory of the host (Offload.h); `withResults`: and so is what the step gives beside them.
  void setOffload(bool offloads, bool withResults = false) {
    this->offloads = offloads;
    offloadsResults = withResults;
  }
  /// The index of the next command.
  uint32_t nextCommand() const { return uint32_t(plan.commands.size()); }

  // Commands, in program order. Lanes are chosen here: one for all computation, and those of communicators. A
  // collective of a single member becomes a copy, or nothing.
  /// The commands that are added from now on run only where all of these hold.
  void setGuards(std::vector<plan::Guard> guards);
  /// The commands that are added from now on run on these ranks only; none: on all.
  void setOwner(std::optional<plan::Owner> owner) { this->owner = owner; }
  void launch(CommandInfo info, uint32_t kernel, std::vector<uint32_t> buffers);
  /// Where it has an attention, the commands that this names are told of it.
  void contract(CommandInfo info, plan::ContractT contract);
  /// Its attention, a command before it, is told of it, and so are the `parts` commands before it, whose work
  /// it may do.
  void attentionGradient(CommandInfo info, plan::AttentionGradientT gradient, uint32_t parts);
  /// Copies a part, or all of `source`.
  void copy(CommandInfo info, plan::CopyT copy);
  void copy(CommandInfo info, uint32_t source, uint32_t target);
  /// All-reduce of some tensors, as one ReducePart and one GatherParts.
  void allReduce(CommandInfo info, plan::ReducePartT reduce);
  /// A sum that one member gets.
  void reduceToRoot(CommandInfo info, plan::ReduceToRootT reduce);
  /// What one member has, for all. The root's buffers are those of an owner's commands, and of no slot.
  void copyFromRoot(CommandInfo info, plan::CopyFromRootT copy);
  // All-gather, reduce-scatter, and all-to-all or permutation, as the schema describes them.
  void allGather(CommandInfo info, plan::GatherBlocksT gather);
  void reduceScatter(CommandInfo info, plan::ReduceBlocksT reduce);
  void exchange(CommandInfo info, plan::ExchangeBlocksT exchange);
  // Where a step is done in micro-batches. So that memory of earlier units is used again, a unit does not run
  // far ahead of them: what it receives waits for the end of the unit before the one before it, and its first
  // computation for what that one sends.
  /// Adds the units of a loop behind those that are there, in the order of the mesh's schedule.
  void addUnits(uint32_t loop, const std::vector<schedule::Unit> &units);
  void setSchedule(std::string name) { plan.schedule = std::move(name); }
  /// The commands that are added from now on are of a unit, numbered in the order of `addUnits`.
  void beginUnit(uint32_t unit);
  /// They are of no unit.
  void endUnits();

  // For a plan that is to be a part (Parts.h). What is received is in order of channels, on a lane of its
  // own.
  void send(CommandInfo info, plan::SendT send);
  void receive(CommandInfo info, plan::ReceiveT receive);

  /// The compiled kernels.
  void setImages(std::vector<std::unique_ptr<plan::ImageT>> images) { plan.images = std::move(images); }
  void setProvenance(plan::ProvenanceT provenance);

  /// The finished, verified plan, for one mesh. The builder is empty afterwards. Throws PlanError if what was
  /// added makes no valid plan.
  plan::PlanT finish();

private:
  template <typename ActionT> void add(CommandInfo info, uint32_t lane, ActionT action);
  uint32_t lane(plan::LaneKind kind, int32_t communicator);
  uint32_t nextLane(uint32_t communicator);
  bool isAlone(uint32_t communicator) const;

  /// The last commands that compute and send so far; -1: none.
  struct Latest {
    int64_t computed = -1, sent = -1;
  };
  void waitForUnits(plan::CommandT &command, plan::LaneKind kind);

  plan::PlanT plan;
  std::vector<plan::Guard> guards;  // of the next commands
  std::optional<plan::Owner> owner; // the same
  int32_t unit = -1;                // of the next commands
  bool isSequential = false;        // they are
  bool offloads = false, offloadsResults = false;
  Latest latest, before;    // now; at the end of the unit before the last one
  Latest last;              // at the end of the last unit
  bool hasComputed = false; // the unit
  uint32_t numCommunicators = 1;
  std::map<uint32_t, std::vector<uint32_t>> turns; // of each communicator its lanes, the next one first
  std::map<uint32_t, uint32_t> slotBuffers;        // of every slot with storage of its own
  std::map<uint32_t, uint32_t> results;            // result slot to the buffer that holds its value
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_BUILDER_H
