//===- StepCost.h - What a choice of shardings costs ------------*- C++ -*-===//
//
// Searches compare programs by the multiply-adds that each member of an axis does, then by the bytes that
// members exchange over it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/Propagation.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// What a propagated program costs on one axis; the first counts most.
struct StepCost {
  int64_t multiplyAdds, bytes;
  bool operator<(StepCost other) const {
    return std::tie(multiplyAdds, bytes) < std::tie(other.multiplyAdds, other.bytes);
  }
};

/// The contractions of a step, turns of loops counted.
class StepCosts {
public:
  explicit StepCosts(const FunctionRules &rules);

  bool isContraction(Operation *op) const { return contractions.contains(op); }
  /// After `program.run()` on `axis`.
  StepCost get(const Propagation &program, AxisAttr axis) const;

private:
  const FunctionRules &rules;
  llvm::MapVector<Operation *, int64_t> contractions; ///< with their multiply-adds
};

} // namespace mlir::epl
