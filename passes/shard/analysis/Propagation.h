//===- Propagation.h - The states of all values on one axis -----*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

#include "llvm/ADT/BitVector.h"

namespace mlir::epl {

/// The lattice of `epl-propagate`: the states of all values of a function on one axis. The arguments in
/// `open` start replicated, if they are not seeded, and may become sharded; the others keep the sharding that
/// they have.
///
/// Searches ask what one more seed changes, or a constraint that no op says: a copy is cheap, and a copy with
/// other seeds or with constraints computes anew what depends on them and nothing else.
class Propagation {
public:
  Propagation(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open);

  /// Starts with `state` of an open argument; replicated takes a seed back.
  void seed(BlockArgument argument, AxisState state);
  /// Takes the program for one that has these constraints, too. Once, before `run`.
  void assume(AssumedConstraints constraints);
  /// Computes the states that follow from the seeds, all but which further arguments become sharded.
  void update();
  /// Computes the states. Seeds and constraints can't be changed any more.
  void run();
  /// Adds them to the shardings of all arguments and ops, and to these the factors that the axis shards.
  void commit();

  /// After `run`: the state of a value, and the factor that an op shards.
  AxisState getState(Value value) const { return getState(settled, value); }
  int64_t getChoice(Operation *op) const { return settled.choices[rules.getPosition(op)]; }
  /// The same by the number of a value, and of all ops by position.
  AxisState getState(unsigned number) const { return settled.states[number]; }
  ArrayRef<int64_t> getChoices() const { return settled.choices; }
  /// The state of a value as a use reads it, through what is assumed.
  AxisState getRead(OpOperand &use) const { return getRead(settled, use); }
  const AssumedConstraints &getAssumed() const { return assumed; }

  /// The values in another state than in `other`, and the ops that shard another factor.
  struct Changes {
    SmallVector<Value> values;
    SmallVector<Operation *> ops;
  };
  Changes compare(const Propagation &other) const;

  /// How often an op was looked at since this was made, or what it is a copy of: tests hold it to a bound.
  int64_t getNumSteps() const { return steps; }

private:
  /// A state in two bytes: searches copy and walk those of all values again and again.
  struct PackedState {
    PackedState(AxisState state = {}) : dim(state.dim), partial(state.partial ? int8_t(*state.partial) : -1) {
      assert(AxisState(*this) == state && "a dimension of a tensor that the axis shards");
    }
    operator AxisState() const {
      return {dim, partial < 0 ? std::nullopt : std::optional(ReductionKind(partial))};
    }
    int8_t dim, partial; ///< -1 for none
  };

  /// What one walk over the program computes: by number of the value, by position of the op.
  struct Walk {
    std::vector<PackedState> states;
    std::vector<int64_t> choices; ///< the factor that the axis shards
  };

  AxisState getState(const Walk &walk, Value value) const {
    std::optional<unsigned> number = rules.getNumber(value);
    return number ? AxisState(walk.states[*number]) : AxisState();
  }
  AxisState getRead(const Walk &walk, OpOperand &use) const {
    return assumed.getRead(use, [&](Value value) { return getState(walk, value); });
  }
  /// The states that a walk has found for the results of the op at a position.
  MutableArrayRef<PackedState> getResults(Walk &walk, unsigned position) const {
    return MutableArrayRef(walk.states)
        .slice(rules.getFirstResult(position), rules.getOps()[position]->getNumResults());
  }
  void setFound(Value value, AxisState state);
  void stopAccumulating(Value value);
  void initialize();
  void markUsers(unsigned number, llvm::BitVector &dirty) const;
  void forward();
  void visit(unsigned position);
  void choose(Walk &walk, unsigned position, int64_t factor);
  void enter(LoopCarryOp carry);
  void leave(LoopLastOp last);
  void reverse();
  void slice(unsigned position);
  bool takesMessage(Operation *op) const;
  bool shardArguments();
  bool settleCarries();

  AxisState getTiedState(BlockArgument argument) const;
  std::optional<AxisState> getUseState(OpOperand &use) const;

  const FunctionRules &rules;
  AxisAttr axis;
  ArrayRef<BlockArgument> open;
  AssumedConstraints assumed;
  DenseMap<Value, AxisState> found; ///< open arguments that are sharded, carried values
  Walk chosen;                      ///< by operands, in program order
  Walk settled;                     ///< what is left of that in reverse, where uses ask for parts
  llvm::BitVector dirty;            ///< ops whose operands have changed, by position
  llvm::BitVector chosenAnew;       ///< ops that were looked at in program order, but not yet in reverse
  int64_t steps = 0;
};

} // namespace mlir::epl
