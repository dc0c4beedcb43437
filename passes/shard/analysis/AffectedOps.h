//===- AffectedOps.h - Where two propagations are placed differently -*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/Propagation.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

/// The ops around what differs between two propagations of one program, on the same axis: those that make or
/// read a value in another state, under another constraint or with another factor. Pending sums that meet at
/// an op are placed together, so what differs is carried on as far as such sums go, in either propagation. No
/// decision on other ops asks for one on these.
class AffectedOps {
public:
  AffectedOps(const FunctionRules &rules, const Propagation &before, const Propagation &after);

  bool contains(unsigned position) const { return affected.test(position); }
  const llvm::BitVector &getPositions() const { return affected; }
  /// The ops, in program order.
  ArrayRef<Operation *> getOps() const { return ops; }
  /// The arguments whose uses may need another state. Nothing but the return may read one.
  ArrayRef<Value> getArguments() const { return arguments.getArrayRef(); }

private:
  void add(unsigned position, SmallVectorImpl<Operation *> &open);
  void addAround(Value value, SmallVectorImpl<Operation *> &open);

  const FunctionRules &rules;
  llvm::BitVector affected; ///< by position
  std::vector<Operation *> ops;
  llvm::SetVector<Value> arguments;
};

} // namespace mlir::epl
