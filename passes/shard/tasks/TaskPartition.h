//===- TaskPartition.h - Which op goes into which task ----------*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/Branches.h"

namespace mlir::epl {

/// Whether `op` casts between distributed values and local tensors.
bool isCast(Operation *op);
/// What `value` is cast from, if it is cast.
Value skipCasts(Value value);

/// Whether computing the op's results costs no more than reading them (constants, fills, broadcasts,
/// reshapes, scalars). Such an op belongs to no task: every task that reads it has a copy.
bool isFree(Operation *op);

/// Whether a free op must stand in a task all the same, because a collective or the function's return reads
/// its result: these take what a task has made.
bool isMaterialized(Operation *op);

/// A node of the graph of tasks: a future task, or one op that stands between tasks (a collective, an edge of
/// a loop), or the arrival of a value from another mesh.
struct TaskNode {
  WorkAttr work;                ///< of a task; null for other nodes
  LoopAttr loop;                ///< the loop in whose iterations the node is done, or null
  OwnerAttr owner;              ///< who does the task; null: all members
  SmallVector<Literal> guard;   ///< the node is skipped if one of these does not hold
  SmallVector<Operation *> ops; ///< in program order; none for an arrival
  llvm::BitVector ancestors;    ///< the nodes that it depends on, directly or through others
};

/// The partition of a localized function's block.
class TaskPartition {
public:
  explicit TaskPartition(Block &body);

  /// The nodes that have ops, each behind those that it depends on, the nodes of a loop together, and in it
  /// those of each loop that is in it. They are sorted by their number of ancestors, which is larger than
  /// that of each ancestor (a loop counts as one node), then by the position of their first op.
  SmallVector<unsigned> getOrder() const;

  const TaskNode &getNode(unsigned index) const { return nodes[index]; }

  /// The predicates of all guards, numbered by their order here.
  ArrayRef<Value> getPredicates() const { return predicates.getArrayRef(); }
  int64_t getNumber(Value predicate) const { return llvm::find(predicates, predicate) - predicates.begin(); }
  /// The node that computes a predicate; nothing if it is an argument.
  std::optional<unsigned> findMaker(Value predicate) const;

  /// Whether something outside node `index` reads `value`, directly or through free ops.
  bool isUsedOutside(Value value, unsigned index) const;

private:
  using NodeKey = std::pair<unsigned, unsigned>; ///< the number of ancestors, then the position

  DenseMap<LoopAttr, NodeKey> getLoopKeys() const;
  void findWork(Block &body);
  SmallVector<Literal> getGuard(Operation *op) const;
  bool canGuard(Value predicate) const;
  bool isArriving(Value predicate) const;
  SmallVector<LoopAttr> getLoopsBefore(Value argument) const;
  void visit(Operation *op, size_t limit);
  void insert(Operation *op, size_t limit);
  bool dependsOn(const llvm::BitVector &producers, Value predicate);
  void addProducers(Operation *op, llvm::BitVector &producers);
  void addProducer(Value value, llvm::BitVector &producers);
  void findChannels(Block &body);
  unsigned getReceive(BlockArgument argument, size_t limit);
  void addSent(int64_t limit, LoopAttr loop, llvm::BitVector &producers);
  void addBefore(Operation *edge, LoopAttr loop, llvm::BitVector &producers);
  void addSentBefore(Operation *edge, LoopAttr loop, llvm::BitVector &producers);
  void addIteration(LoopAttr loop, llvm::BitVector &producers);
  void addBackwardBefore(Operation *op, llvm::BitVector &producers);
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
