//===- StepSplit.h - What of a step workers do, and what servers --*- C++ -*-===//
//
// Servers do what applies gradients, in groups: a parameter and what the optimizer keeps of it
// (StateGroups.h). A group gets what it is made of from workers, who push it:
//
//     gradient ── momentum ──┬── new momentum         the group of the parameter; the gradient is pushed
//                 parameter ─┴── new parameter
//     count ── count + 1 ── rates ── (all groups)     autonomous: each group has a count of its own
//     gradients ── norm ── factor ── (all groups)     a number of several groups' gradients: workers make it
//
// What a group makes of such a number and of its gradient alone, such as the clipped gradient, is a worker's
// as well where less is pushed then. Otherwise the first values that servers can begin with are pushed, so
// that what servers make of the mean over all workers is what one device makes of the whole batch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/StateGroups.h"
#include "passes/shard/servers/AutonomousStates.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace mlir::epl {

/// What servers do for one group.
struct ServerWork {
  DenseSet<Operation *> ops;
  SetVector<Value> pushes;         ///< what they read of workers' values
  SetVector<BlockArgument> own;    ///< autonomous states of which a block has a copy
  SetVector<BlockArgument> copies; ///< arguments that stay as they are, of which it has one as well
};

/// A parameter with the states that are updated with it.
struct ServerGroup {
  unsigned leader;                   ///< in `StateGroups`
  BlockArgument parameter;           ///< the largest state that workers read, or of all
  SmallVector<BlockArgument> states; ///< with the parameter, in the order of the step
  ServerWork work;
};

/// Deals the work of a global program out to workers and servers.
class StepSplit {
public:
  /// Fails, with an error at the op, if a part of the work can be neither's, or servers have nothing to do
  /// and no tables.
  static FailureOr<std::unique_ptr<StepSplit>> create(func::FuncOp step, bool withTables);

  func::FuncOp getStep() const { return step; }
  /// In the order of their parameters.
  ArrayRef<ServerGroup> getGroups() const { return groups; }
  /// What workers push, each value once, with the numbers of the groups that get it.
  const llvm::MapVector<Value, SmallVector<int64_t>> &getPushes() const { return pushes; }
  /// Whether servers hold a state.
  bool isOnServers(BlockArgument state) const { return served.contains(state); }
  /// Whether workers read a state that servers hold.
  bool isPulled(BlockArgument state) const { return pulled.contains(state); }
  /// Whether an op is workers' work.
  bool isOfWorkers(Operation *op) const { return needed.contains(op); }
  /// Whether a state that servers do not hold is workers': they read it, or no group has a copy.
  bool isKept(BlockArgument state) const { return kept.contains(state); }
  /// What the step returns as the next value of a state.
  Value getNextValue(BlockArgument state) const { return nextValues.lookup(state); }
  /// An op that makes a number of several groups' gradients; null if there is none.
  Operation *findMixing() const;

private:
  explicit StepSplit(func::FuncOp step);

  void findServed();
  void group();
  bool isFollowed(Operation &op) const { return applied.contains(&op) && !autonomous.contains(&op); }
  void joinReaders();
  std::optional<unsigned> findPartner(unsigned leader) const;
  bool dropGroups();
  bool isOfServers(unsigned leader, const ServerWork &work) const;
  void findPulled();
  void findComputable();
  void findOfGradients();
  bool isComputable(Value value) const;
  bool isCommon(Operation *op) const;
  bool readsOthers(Operation *op, unsigned leader) const;
  std::optional<unsigned> getLeader(Value value) const;
  SmallVector<unsigned> getLeaders() const;
  SmallVector<BlockArgument> getStates(unsigned leader) const;
  ServerWork collect(unsigned leader, const DenseSet<Operation *> &pushed = {}) const;
  ServerWork absorb(unsigned leader) const;
  bool saves(const ServerWork &before, const ServerWork &after, Operation *op) const;
  BlockArgument findParameter(ArrayRef<BlockArgument> states) const;
  LogicalResult collectGroups();
  LogicalResult verify(const ServerGroup &made) const;
  LogicalResult failMixing(Operation *op, const ServerGroup &made) const;
  LogicalResult findNeeded();
  void need(Value value, SmallVectorImpl<Value> &open);
  LogicalResult verifyNeeded() const;

  func::FuncOp step;
  Block &body;
  Loops loops;
  AutonomousStates autonomous;
  DenseSet<Operation *> applied;
  DenseMap<BlockArgument, Value> nextValues;
  llvm::MapVector<BlockArgument, unsigned> served; ///< states that servers hold, with the result of each
  std::unique_ptr<StateGroups> classes;
  SmallVector<std::pair<unsigned, unsigned>> joined; ///< results of groups that are one
  DenseSet<BlockArgument> pulled, kept;
  DenseSet<Operation *> computable;  ///< by workers, who have what they pull and what they hold
  DenseSet<Operation *> ofGradients; ///< and what these apply, made of nothing else
  DenseSet<Operation *> needed;      ///< of workers
  SmallVector<ServerGroup> groups;
  llvm::MapVector<Value, SmallVector<int64_t>> pushes;
};

/// Puts values of a step in their order: arguments, then what its ops make.
void sortByPlace(MutableArrayRef<Value> values);

/// How errors call an argument: its name, or "argument 3".
std::string getArgumentName(BlockArgument argument);

} // namespace mlir::epl
