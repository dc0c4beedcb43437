//===- Propagation.h - The states of all values on one axis -----*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

namespace mlir::epl {

/// The lattice of `epl-propagate`: the states of all values of a function on one axis. The arguments in
/// `open` start replicated, if they are not seeded, and may become sharded; the others keep the sharding that
/// they have.
class Propagation {
public:
  Propagation(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open)
      : rules(rules), axis(axis), open(open) {}

  /// Starts with `state` of an open argument.
  void seed(BlockArgument argument, AxisState state) { found[argument] = state; }
  /// Computes the states.
  void run();
  /// Adds them to the shardings of all arguments and ops, and to these the factors that the axis shards.
  void commit();

  /// After `run`: the state of a value, and the factor that an op shards.
  AxisState getState(Value value) const { return states.lookup(value); }
  int64_t getChoice(Operation *op) const { return choices.lookup(op); }

private:
  void initialize();
  void choose(Operation &op, int64_t factor);
  void forward();
  void reverse();
  bool shardArguments();
  void enter(LoopCarryOp carry);
  void leave(LoopLastOp last);
  bool settleCarries();

  AxisState getTiedState(BlockArgument argument) const;
  std::optional<AxisState> getUseState(OpOperand &use) const;

  const FunctionRules &rules;
  AxisAttr axis;
  ArrayRef<BlockArgument> open;
  DenseMap<Value, AxisState> states;
  DenseMap<Operation *, int64_t> choices; ///< the factor that the axis shards, of every op
  DenseMap<Value, AxisState> found;       ///< open arguments that became sharded, carried values
};

} // namespace mlir::epl
