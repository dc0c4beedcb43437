//===- FactorChoice.h - Which factor of an op is sharded --------*- C++ -*-===//
//
// On one axis an op shards one factor or none. Propagation chooses it from the states of results and operands
// and writes it down at the op (`epl.factors`); placement and verification read it there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"
#include "passes/shard/analysis/AssumedConstraints.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/BatchFactors.h"
#include "passes/shard/analysis/TaskGraphAxes.h"
#include "passes/shard/analysis/Zero.h"

#include <unordered_set>

namespace mlir::epl {

/// The factor that an op says `axis` shards (`epl.factors`, reshards, constraints), or
/// `FactorRule::kBlocked`.
int64_t getChosenFactor(Operation *op, AxisAttr axis);

/// Writes it down. Reshards and constraints say it by themselves.
void setChosenFactor(Operation *op, AxisAttr axis, int64_t factor);

/// Whether a value is a tensor that is pending over the axis at hand.
bool isPending(Value value, StateOf getState);

/// Whether a use reads such a one.
bool isPending(OpOperand &use, StateOf getState, const AssumedConstraints &assumed);

/// Asks for the state that a use needs of a complete tensor; none if that is not known.
using UseStateOf = function_ref<std::optional<AxisState>(OpOperand &)>;

/// The sharded state that all uses of a replicated value need, if they agree on one: then each member need
/// only make its part. None if a use needs the whole value, or if two uses need different parts.
std::optional<AxisState> getSlicedState(Value value, UseStateOf getUseState);

/// The rules of a function's ops and what is known of its values: what decisions are made from.
class FunctionRules {
public:
  FunctionRules(func::FuncOp function, MeshOp mesh);

  /// Says that members of the mesh's axis come one after the other: what is whole is not there for all of
  /// them if it is made of what each has.
  void setInTime() { isInTime = true; }
  /// Says that no complete value becomes an addend of a pending sum: that is completed before.
  void setUnmasked() { isUnmasked = true; }

  func::FuncOp getFunction() const { return function; }
  MeshOp getMesh() const { return mesh; }
  const FactorRule &getRule(Operation *op) const {
    auto place = places.find(op);
    return place == places.end() ? *returnRule : *rules[place->second.position];
  }
  /// The argument that a result of the function updates, or null.
  BlockArgument getUpdatedArgument(unsigned result) const { return updatedArguments[result]; }
  /// The uses of tensors from outside in the regions of `op` (see `mlir::epl::getCapturedTensors`).
  ArrayRef<OpOperand *> getCapturedTensors(Operation *op) const;
  /// What the function returns in the place of `argument`, or null.
  Value getUpdate(BlockArgument argument) const { return updates.lookup(argument); }

  /// The ops of the function's body in order, but for the return.
  ArrayRef<Operation *> getOps() const { return ops; }
  /// Where an op of these stands.
  unsigned getPosition(Operation *op) const { return places.find(op)->second.position; }
  bool hasPosition(Operation *op) const { return places.contains(op); }
  /// None for ops in regions, and for the return.
  std::optional<unsigned> findPosition(Operation *op) const {
    auto place = places.find(op);
    return place == places.end() ? std::nullopt : std::optional(place->second.position);
  }
  /// Arguments and results of these ops are numbered. None for other values.
  unsigned getNumValues() const { return numValues; }
  std::optional<unsigned> getNumber(Value value) const;
  /// The number of the first result of the op at a position; the others follow.
  unsigned getFirstResult(unsigned position) const { return firstResults[position]; }
  /// The positions of the ops that read the value of a number, or capture it.
  ArrayRef<unsigned> getReaders(unsigned number) const {
    return ArrayRef(readers).slice(firstReaders[number], firstReaders[number + 1] - firstReaders[number]);
  }

  const Loops &getLoops() const { return loops; }
  /// The ends of iterations that carry a value into the next one, in program order.
  ArrayRef<LoopLastOp> getLasts() const { return lasts; }
  /// Whether a value that a loop carries may be a pending sum in all iterations, as gradients that iterations
  /// add up are: it must start at zero (as every member adds its initial value), and be read only for the
  /// value of the next iteration. That the iterations only add to it is checked by the rules of their ops.
  bool isAccumulator(LoopCarryOp carry) const;

  /// Whether `axis` divides dimension `dim` of a tensor together with the other axes that are there already.
  bool divides(Value value, int64_t dim, AxisAttr axis) const;

  /// Whether `axis` can shard `factor`: it divides every dimension of the factor together with the other axes
  /// that are there already, and a reduction may start on every member.
  bool canShard(Operation *op, int64_t factor, AxisAttr axis) const;

  /// Whether every member may start a reduction of the op from the initial values.
  bool startsNeutral(Operation *op) const;

  /// Whether some work shards samples over `axis`: all does over axes of role `data`, that of a task graph
  /// over an axis that it is not split over.
  bool isOfBatch(AxisAttr axis) const { return axis.isData() || taskgraphs.isMixed(axis.getName()); }
  /// What the task graph of `op` uses `axis` for.
  AxisUse getUse(Operation *op, AxisAttr axis) const { return taskgraphs.getUse(op, axis.getName()); }

  /// Whether what an op reads by a use goes to other devices: it is made by work on others, or each iteration
  /// sends it.
  bool crossesMeshes(OpOperand &use) const;

  /// The factor that an op shards whatever its operands are, or `FactorRule::kBlocked`: of reshards, and of
  /// constraints that say something of the axis.
  static std::optional<int64_t> getSaidFactor(Operation *op, AxisAttr axis);

  /// The factor that `axis` shards, or `FactorRule::kBlocked`. The first row that applies decides:
  ///
  ///     1. the op says it: a constraint, a reshard                | that factor, or none
  ///     2. it is an end of a value that a loop carries            | that of the carried value
  ///     3. a result is sharded already                            | the factor of that dimension
  ///     4. its task graph shards the batch over the axis, where   | the factor that counts samples
  ///        another one of the mesh splits parameters over it      |
  ///     5. operands are sharded                                   | the factor with most votes
  ///     6. none is                                                | none
  ///
  /// In a vote each operand votes for the factor of its sharded dimension, with the bytes that would have to
  /// move if another one won; of equal votes the lower factor wins, and operands that lost are gathered. In a
  /// task graph that splits parameters over an axis which is of the batch elsewhere, the factor of samples
  /// wins only if nothing votes for another one.
  /// Operands are read through the `assumed` constraints.
  int64_t chooseFactor(Operation *op, AxisAttr axis, StateOf getState,
                       const AssumedConstraints &assumed = {}) const;

  /// The factor to shard if all uses of the op's results slice them, so that each member makes just what it
  /// reads: a parallel factor that gives every result the state which its uses agree on, or
  /// `FactorRule::kBlocked` if there is none.
  int64_t chooseSlicedFactor(Operation *op, AxisAttr axis, UseStateOf getUseState) const;

  /// The state that an operand must have when the op shards `factor`; what does not depend on it is
  /// replicated.
  AxisState getOperandState(Operation *op, unsigned operand, int64_t factor) const;

  /// The states of the results of an op that shards `factor` over `axis`, or shards nothing
  /// (`FactorRule::kBlocked`).
  ///
  ///     factor    | partial operands | results
  ///     ----------+------------------+------------------------------------------------------------
  ///     parallel  | none             | sharded on the dimension that the factor walks
  ///     reduction | none             | pending that reduction
  ///     blocked   | none             | replicated
  ///     blocked   | some             | pending, if the op is linear in them (Linearity.h); else failure
  ///     any other | some             | failure
  ///
  /// Failure also for an op that says its result's state (a constraint) and reads a partial value. After a
  /// failure the operands have to be completed before the op.
  ///
  /// If a complete operand is added to a partial one, it must count once, not once for each member. Such
  /// operands are appended to `masked`: all members but one have to read zeros in their place.
  FailureOr<SmallVector<AxisState>> getResultStates(Operation *op, int64_t factor, AxisAttr axis,
                                                    StateOf getState, const AssumedConstraints &assumed = {},
                                                    SmallVectorImpl<OpOperand *> *masked = nullptr) const;

private:
  void collectReaders();
  const FactorRule *addRule(Operation *op) { return &*distinctRules.insert(getFactorRule(op)).first; }
  bool divides(ValueRange values, ArrayRef<SmallVector<int64_t>> dimFactors, int64_t factor,
               AxisAttr axis) const;
  bool dividesWithResults(Operation *op, int64_t factor, AxisAttr axis) const;
  int64_t getMovedBytes(OpOperand &use, const AssumedConstraints &assumed) const;
  int64_t vote(Operation *op, AxisAttr axis, StateOf getState, const AssumedConstraints &assumed) const;
  FailureOr<SmallVector<AxisState>> flowPartial(Operation *op, StateOf getState,
                                                const AssumedConstraints &assumed,
                                                SmallVectorImpl<OpOperand *> *masked) const;
  FailureOr<SmallVector<Status>> getStatuses(Operation *op, StateOf getState,
                                             const AssumedConstraints &assumed) const;
  bool isLinear(Operation *op, ArrayRef<Status> operands, SmallVectorImpl<AxisState> &results) const;
  bool isMadeOfMembers(Value value, StateOf getState) const;
  SmallVector<OpOperand *> findMasked(Operation *op, StateOf getState, const AssumedConstraints &assumed,
                                      MutableArrayRef<Status> statuses) const;
  /// The carried value whose state the op's result has, too; null for ops that are no ends of one.
  Value getCarried(Operation *op) const;

  /// The position of an op, and the number of its first result.
  struct Place {
    unsigned position, firstResult;
  };

  bool isInTime = false, isUnmasked = false;
  func::FuncOp function;
  MeshOp mesh;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, Place> places;
  std::vector<unsigned> firstResults; ///< by position
  unsigned numValues;
  std::vector<unsigned> readers, firstReaders; ///< of all values, and where those of each begin
  Loops loops;
  SmallVector<LoopLastOp> lasts;
  ZeroAnalysis zeros;
  struct HashRule {
    size_t operator()(const FactorRule &rule) const { return hash_value(rule); }
  };
  /// Each rule once: those of a model's layers are equal, and what walks visit again and again stays small.
  std::unordered_set<FactorRule, HashRule> distinctRules;
  std::vector<const FactorRule *> rules; ///< by position
  const FactorRule *returnRule;
  mutable std::vector<int64_t> movedBytes; ///< of values by number, -1 for what nobody has asked yet
  DenseMap<Operation *, SmallVector<OpOperand *>> captures; ///< of the ops that capture tensors
  SmallVector<BlockArgument> updatedArguments;              ///< of each result of the function
  DenseMap<Value, Value> updates;                           ///< of arguments
  TaskGraphAxes taskgraphs;
  WorkMeshes workMeshes;
  std::optional<BatchFactors> batch; ///< where task graphs use an axis differently
};

} // namespace mlir::epl
