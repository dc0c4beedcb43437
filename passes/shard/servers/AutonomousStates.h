//===- AutonomousStates.h - States that follow from themselves --*- C++ -*-===//
//
// A count of steps, a power of a decay rate and a key of random numbers follow from nothing but themselves:
// whoever has the first value has all later ones. Each block of a parameter that reads such a state can have
// a copy of its own, and so can a worker.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// What a step makes of constants, of arrays that it closes over, and of states that follow from these.
class AutonomousStates {
public:
  explicit AutonomousStates(func::FuncOp step);

  /// Whether a value is such an argument, or made of these alone.
  bool contains(Value value) const;
  bool contains(Operation *op) const { return ops.contains(op); }
  /// What the step returns as the next value of an argument; null of what is no state, or stays as it is.
  Value getNextValue(BlockArgument argument) const { return nextValues.lookup(argument); }

private:
  void collect(Block &body, const Loops &loops);

  DenseMap<BlockArgument, Value> nextValues;
  DenseSet<Value> arguments;
  DenseSet<Operation *> ops;
};

} // namespace mlir::epl
