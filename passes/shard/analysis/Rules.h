//===- Rules.h - Factor rules: what sharding an op allows -------*- C++ -*-===//
//
// A factor is a dimension of an op's iteration space. A factor rule maps every dimension of every operand and
// result to the factor that walks it, or says that the dimension is blocked. Sharding an op over an axis
// means sharding one factor: dimensions of that factor are sharded, all others replicated, and if the factor
// is a reduction the results are partial.
//
// For linalg ops rules are derived from indexing maps and iterator types; the few ops without maps have a
// rule by hand; for every other op all dimensions are blocked. Idea: Shardy's factors; the rules by hand are
// those that real training steps were found to need.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace mlir::epl {

/// How an op can be sharded.
struct FactorRule {
  /// In place of a factor: this dimension must be replicated.
  static constexpr int64_t kBlocked = -1;

  /// Parallel or reduction, for each factor. Of a linalg op, factor `i` is loop `i`.
  SmallVector<utils::IteratorType> factors;
  /// For each operand and result the factor of each dimension; empty for what is not a ranked tensor.
  SmallVector<SmallVector<int64_t>> operands, results;
  /// For each result how it combines over a reduction factor; without meaning if there is none that some
  /// dimension maps to.
  SmallVector<ReductionKind> reductions;
  /// Factors that are sharded only if nothing asks for another one: dimensions that a gather looks up.
  /// Members would all read at all positions, which is a waste where the positions are shared among them.
  SmallVector<int64_t> lookups;

  bool isReduction(int64_t factor) const {
    assert(factor >= 0 && factor < int64_t(factors.size()) && "a factor of the rule");
    return factors[factor] == utils::IteratorType::reduction;
  }
};

/// The rule of `op`. Never fails: an op that nothing is known about has all dimensions blocked.
FactorRule getFactorRule(Operation *op);

/// Whether every element of the op's tensor is the same, so that it can be made in any size: empty tensors,
/// splats.
bool isUniform(Operation *op);

/// The uses, inside the regions of `op`, of tensors from outside. They have no place in the rule: what is
/// captured must be replicated and complete.
SmallVector<OpOperand *> getCapturedTensors(Operation *op);

/// All values from outside that `op` uses, those of its regions included.
SetVector<Value> getUsedValues(Operation *op);

/// Writes the rule as people read it, one list for each operand and result, "_" for a blocked dimension:
/// `([d0, d2], [d2, d1], [d0, d1]) -> ([d0, d1]) reduces d2 by sum`.
void printRule(raw_ostream &os, const FactorRule &rule);

} // namespace mlir::epl
