//===- TaskPartition.h - Which op goes into which task ----------*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/Branches.h"

namespace mlir::epl {

/// Whether `op` casts between distributed values and local tensors.
bool isCast(Operation *op);

/// Whether making the op's results again costs no more than reading them.
bool isFree(Operation *op);

/// Whether a free op must stand in a task all the same, since its result leaves the tasks as it is.
bool isMaterialized(Operation *op);

/// A task to be, or one op that stands between tasks.
struct TaskNode {
  WorkAttr work;                ///< null: no task
  LoopAttr loop;                ///< in whose iterations it is done, or null
  SmallVector<Literal> guard;   ///< where one of these does not hold it is not done
  SmallVector<Operation *> ops; ///< none: something comes from another mesh
  llvm::BitVector ancestors;    ///< the nodes that it depends on, directly or not
};

/// The partition of a localized function's block.
class TaskPartition {
public:
  explicit TaskPartition(Block &body);

  /// The nodes that have ops in dependency order, those of a loop together, and where it leaves a choice in
  /// the order of their first ops. A node has more ancestors than each of its ancestors, and so has a loop,
  /// of which all nodes count as one.
  SmallVector<unsigned> getOrder() const;

  const TaskNode &getNode(unsigned index) const { return nodes[index]; }

  /// The predicates of all guards, numbered by their order here.
  ArrayRef<Value> getPredicates() const { return predicates.getArrayRef(); }
  int64_t getNumber(Value predicate) const { return llvm::find(predicates, predicate) - predicates.begin(); }
  /// The node that makes a predicate; nothing if it is an argument.
  std::optional<unsigned> findMaker(Value predicate) const;

  /// Whether node `index` must hand out `value`. A free user is a part of its users.
  bool isUsedOutside(Value value, unsigned index) const;

private:
  using NodeKey = std::pair<unsigned, unsigned>; ///< the number of ancestors, then the position

  DenseMap<LoopAttr, NodeKey> getLoopKeys() const;
  void findWork(Block &body);
  SmallVector<Literal> getGuard(Operation *op) const;
  bool canGuard(Value predicate) const;
  void visit(Operation *op, size_t limit);
  void insert(Operation *op, size_t limit);
  void addProducers(Operation *op, llvm::BitVector &producers);
  void addProducer(Value value, llvm::BitVector &producers);
  void findChannels(Block &body);
  unsigned getReceive(BlockArgument argument, size_t limit);
  void addIteration(LoopAttr loop, llvm::BitVector &producers);
  unsigned chooseNode(Operation *op, ArrayRef<Literal> guard, const llvm::BitVector &producers);
  void addDependencies(unsigned index, const llvm::BitVector &producers);

  Loops loops;
  Branches branches;
  llvm::DenseSet<Value> worthwhile; ///< the predicates of branches with more than elementwise work
  llvm::SetVector<Value> predicates;
  DenseMap<LoopAttr, SmallVector<Operation *>> leaving; ///< the ops that leave each loop
  llvm::DenseSet<Operation *> visited;
  std::vector<TaskNode> nodes;
  DenseMap<Operation *, unsigned> nodeOf;
  DenseMap<Value, int64_t> received;                 ///< the channels of arguments
  DenseMap<Value, unsigned> receives;                ///< their nodes
  SmallVector<std::pair<int64_t, Operation *>> sent; ///< channels, and what makes their values
};

} // namespace mlir::epl
