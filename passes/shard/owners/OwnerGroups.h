//===- OwnerGroups.h - What of the optimizer belongs together ---*- C++ -*-===//
//
// A parameter and what the optimizer keeps of it are a group (StateGroups.h). It can be given to one device,
// with all work that leads to nothing else:
//
//     gradient ── momentum ──┬── new momentum        one group, all of it owned
//                 parameter ─┴── new parameter
//     count ── count + 1 ── rates ── (all groups)     leads to many: on every device
//     gradients ── norm ── scale ── (all groups)
//
// What is sharded or pending over the axis has no owner: it is computed by all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/StateGroups.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// States with the work that makes their new values and nothing else.
struct OwnerGroup {
  SmallVector<unsigned> results; ///< of the function, that update the states
  Operation *gradient = nullptr; ///< the last op, not owned, that makes something the group's work reads;
                                 ///< null if that is a constant
  std::optional<int64_t> owner;  ///< what `epl.owner` of the first state that has it says
  int64_t numElements = 0; ///< of its parameters: the states that other work reads, too; of all if none is
};

/// The groups of a localized function, as it was when this was made.
class OwnerGroups {
public:
  /// For owners on `axis` of `mesh`.
  OwnerGroups(func::FuncOp function, MeshOp mesh, StringRef axis);

  /// Those that read a gradient, in the order in which their gradients stand, and before them those with
  /// states of `epl.owner` whose gradients are constants.
  ArrayRef<OwnerGroup> getGroups() const { return groups; }
  /// The group that an op, a cast or collective among them, is work of; nothing for what all members do.
  std::optional<unsigned> getGroup(Operation *op) const;
  /// The group whose work alone reads a sum over the axis; nothing for other sums.
  std::optional<unsigned> getReader(AllReduceOp sum) const;
  /// Whether the state that result `result` of the function updates is read by nothing but its group's work,
  /// and so is its new value.
  bool isHeldByOwner(unsigned result) const { return heldByOwner.contains(result); }
  /// The tensor that result `result` returns, behind its cast; null if its group does not make it.
  Value getNewValue(unsigned result) const;

private:
  bool isCandidate(Operation &op) const;
  bool mentionsAxis(Value value) const;
  bool mayHaveOneOwner(const llvm::BitVector &which) const;
  bool makesGradient(Operation *op, bool isOfNumbers) const;
  std::optional<unsigned> findCommonGroup(Operation &op) const;
  std::optional<unsigned> findCommonGroup(Value value) const;
  bool isNewValue(Value value) const;
  bool isOwned(Value value) const;
  std::optional<unsigned> findReader(AllReduceOp sum) const;
  std::optional<unsigned> toGroup(std::optional<unsigned> leader) const;
  void assign();
  std::optional<int64_t> findSaidOwner(unsigned leader) const;
  void collect();
  void findHeld();

  func::FuncOp function;
  Block &body;
  Loops loops;
  StringRef axis;
  DenseMap<Operation *, int64_t> positions;
  SmallVector<unsigned> results; ///< that update a state
  StateGroups classes;
  DenseMap<Operation *, unsigned> leaders;     ///< of the class whose work an op is
  llvm::MapVector<unsigned, unsigned> numbers; ///< of groups, by the leader of their class
  SmallVector<OwnerGroup> groups;
  DenseSet<unsigned> heldByOwner;
};

} // namespace mlir::epl
