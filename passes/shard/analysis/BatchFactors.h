//===- BatchFactors.h - Where the samples of the batch are ------*- C++ -*-===//
//
// The dimension of each value that counts samples, and the factor by which each op walks them: what data
// parallelism would shard, known without a mesh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"
#include "passes/shard/analysis/Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// Follows the batch dimensions of a function's arguments through its ops.
class BatchFactors {
public:
  /// `getRule` has a rule for every op of the function, `loops` are those of its body.
  BatchFactors(func::FuncOp function, const Loops &loops,
               function_ref<const FactorRule &(Operation *)> getRule);

  /// The factor of `op` that counts samples, or `FactorRule::kBlocked`.
  int64_t getFactor(Operation *op) const {
    auto known = factors.find(op);
    return known == factors.end() ? FactorRule::kBlocked : known->second;
  }
  /// The dimension of `value` that counts samples, or -1.
  int64_t getDim(Value value) const {
    auto known = dims.find(value);
    return known == dims.end() ? -1 : known->second;
  }

private:
  int64_t chooseFactor(Operation &op, const FactorRule &rule) const;
  void visit(Operation &op, const FactorRule &rule);
  bool settleCarries(Block &body, const Loops &loops);

  DenseMap<Operation *, int64_t> factors;
  DenseMap<Value, int64_t> dims;    ///< those of values that count samples only
  DenseMap<Value, int64_t> carried; ///< of values that count samples from the second iteration of a loop on
};

} // namespace mlir::epl
