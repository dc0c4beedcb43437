//===- StepCost.h - What a choice of shardings costs ------------*- C++ -*-===//
//
// Searches compare programs by the time of the multiply-adds that each member of an axis does, and of the
// bytes that members exchange over it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/Propagation.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// The multiply-adds of a contraction or a factorization, none of other ops.
std::optional<int64_t> countMultiplyAdds(Operation *op);

/// What a propagated program costs on one axis. Time is measured in multiply-adds of f32: a byte counts as
/// many of them as a device does in the time in which it receives the byte (`getMultiplyAddsPerByte`).
struct StepCost {
  int64_t multiplyAdds, bytes;
  double multiplyAddsPerByte;

  double getTime() const { return double(multiplyAdds) + multiplyAddsPerByte * double(bytes); }
  bool operator<(StepCost other) const { return getTime() < other.getTime(); }
};

/// The contractions of a step, iterations of loops counted. Factorizations are among them.
class StepCosts {
public:
  explicit StepCosts(const FunctionRules &rules);

  bool isContraction(Operation *op) const { return contractions.contains(op); }
  /// In multiply-adds of f32: one of another type counts by the time that it takes.
  int64_t getMultiplyAdds(Operation *contraction) const { return contractions.lookup(contraction); }
  /// The contractions of which each member does a part. Needs `program.run()`.
  DenseSet<Operation *> getSplit(const Propagation &program) const;
  /// The cost of a program that was propagated on `axis`. Contractions in one of `others` count as split,
  /// even if they are not yet: those that parameters will split which are not decided.
  StepCost get(const Propagation &program, AxisAttr axis,
               ArrayRef<const DenseSet<Operation *> *> others = {}) const;

private:
  const FunctionRules &rules;
  double multiplyAddsPerByte;
  llvm::MapVector<Operation *, int64_t> contractions; ///< with their multiply-adds
};

} // namespace mlir::epl
