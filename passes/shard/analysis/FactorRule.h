//===- FactorRule.h - What sharding an op allows ----------------*- C++ -*-===//
//
// A factor is a dimension of an op's iteration space. A factor rule maps every dimension of every operand and
// result to the factor that walks it, or says that the dimension is blocked. Sharding an op over an axis
// means sharding one factor: dimensions of that factor are sharded, all others replicated, and if the factor
// is a reduction the results are partial. Idea: Shardy's factors.
//
//   matmul  %c = %a * %b     factors: d0 d1 parallel, d2 reduction
//           operands [d0, d2], [d2, d1]     result [d0, d1]
//           sharding d0: %a by rows, %b replicated, %c by rows
//           sharding d2: %a by columns, %b by rows, %c pending a sum
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

  bool operator==(const FactorRule &other) const = default;

  bool isReduction(int64_t factor) const {
    assert(factor >= 0 && factor < int64_t(factors.size()) && "a factor of the rule");
    return factors[factor] == utils::IteratorType::reduction;
  }

  /// A dimension of an operand or result: the entry of the rule that a factor is written to.
  struct Dim {
    SmallVector<int64_t> &dims;
    int64_t dim;
  };

  /// Makes a factor of the given dimensions.
  void link(ArrayRef<Dim> dims, utils::IteratorType iterator = utils::IteratorType::parallel);

  /// Makes a parallel factor of dimension `dim` of all operands and results.
  void linkAll(int64_t dim);

  /// Makes parallel factors of the dimensions of `whole` that a slice of it takes in full, together with
  /// those of `part`; `whole` is the entry of an operand or result, or of both where one is the other with
  /// the slice replaced. `dropped` are the dimensions that `part` lacks.
  void linkSlice(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, RankedTensorType wholeType,
                 const llvm::SmallBitVector &dropped, ArrayRef<SmallVector<int64_t> *> wholes,
                 SmallVector<int64_t> &part);
};

/// The rule of an op of which nothing is known: every dimension is blocked. Rules are made from this one.
FactorRule getBlockedRule(Operation *op);

/// Every dimension but `except` is the same one in all operands and results, which have one rank.
FactorRule getPointwiseRule(Operation *op, int64_t except = FactorRule::kBlocked);

/// That of an op whose operands all have the shape of its result; else every dimension is blocked.
FactorRule getSameShapeRule(Operation *op);

/// Equal for equal rules.
llvm::hash_code hash_value(const FactorRule &rule);

/// Writes the rule as people read it, one list for each operand and result, "_" for a blocked dimension:
/// `([d0, d2], [d2, d1], [d0, d1]) -> ([d0, d1]) reduces d2 by sum`.
void printRule(raw_ostream &os, const FactorRule &rule);

} // namespace mlir::epl
