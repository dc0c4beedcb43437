//===- BatchFactors.h - Where the samples of the batch are ------*- C++ -*-===//
//
// Follows the samples of the batch through a program: which dimension of each value counts them, and by which
// factor each op walks them. It is what data parallelism would shard, but needs no mesh:
//
//   %x: 64 x 784 (batch_dim 0), %w: 784 x 10      %x counts samples in dimension 0, %w in none
//   %h = matmul %x, %w                            factor d0, and dimension 0 of %h
//   %s = transpose %h                             dimension 1 of %s
//   %g = matmul (transpose %x), %dh               factor d2, which is summed over: %g counts none
//
// Where task graphs that share devices use an axis differently, those that replicate shard this factor
// (FactorChoice.h).
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
