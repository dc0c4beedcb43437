//===- Propagation.h - The states of all values on one axis -----*- C++ -*-===//
#pragma once

#include "passes/shard/FactorChoice.h"

namespace mlir::epl {

/// The lattice of `epl-propagate`: the states of all values of a function on one axis. The arguments in
/// `open` start replicated and may become sharded; the others keep the sharding that they have.
class Propagation {
public:
  Propagation(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open)
      : rules(rules), axis(axis), open(open) {}

  /// Computes the states.
  void run();
  /// Adds them to the shardings of all arguments and ops.
  void commit();

private:
  void seed();
  void choose(Operation &op, int64_t factor);
  void forward();
  void reverse();
  void pushInto(Operation &op);
  bool shardArguments();

  AxisState getState(Value value) const { return states.lookup(value); }
  AxisState getTiedState(BlockArgument argument) const;
  std::optional<AxisState> getSlicedState(Value value) const;

  const FunctionRules &rules;
  AxisAttr axis;
  ArrayRef<BlockArgument> open;
  DenseMap<Value, AxisState> states;
  DenseMap<Operation *, int64_t> choices; ///< the factor that the axis shards, of every op
  DenseMap<Value, AxisState> found;       ///< open arguments that became sharded
};

} // namespace mlir::epl
