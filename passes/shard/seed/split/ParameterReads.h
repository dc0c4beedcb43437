//===- ParameterReads.h - Where a step multiplies by a parameter -*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

namespace mlir::epl {

/// A contraction or a gather of the forward work that reads a parameter, directly or through ops that only
/// move elements (casts, transposes, reshapes, slices).
struct ParameterRead {
  Operation *op;
  unsigned operand;          ///< of `op`: the one that comes from the parameter
  ArrayRef<int64_t> dims;    ///< for each dimension of that operand the parameter's dimension, or -1
  ArrayRef<int64_t> factors; ///< for each dimension of that operand the factor of `op` that walks it
};

/// Calls `found` for each read of `argument`, but for those by task graphs that shard their batch over `axis`
/// while others are split over it. Dimensions are followed through ops as far as `axis` can shard them.
void walkReads(const FunctionRules &rules, AxisAttr axis, BlockArgument argument,
               function_ref<bool(Operation *)> isContraction,
               function_ref<void(const ParameterRead &)> found);

/// How parameters are used, whatever their names are: of each product with a parameter, what makes the other
/// factor, and what reads the product. That tells the four square matrices of attention apart, and is the
/// same for equal layers:
///
///   |        | the other factor is made by    | the product is read by               |
///   | ------ | ------------------------------ | ------------------------------------ |
///   | wq     | no product of activations      | scores, as their first operand       |
///   | wk     | no product of activations      | scores, as their second operand      |
///   | wv     | no product of activations      | the weighted sum                     |
///   | wo     | the weighted sum               | the sum with the residual            |
///   | w_up   | no product of activations      | the activation function              |
///   | w_down | no product of activations      | the sum with the residual            |
///
/// What multiplies rows that were gathered (messages along the edges of a graph) differs from what multiplies
/// all rows.
/// Ops further away are not looked at: the neighbours of the first and the last layer differ from others.
class ParameterUses {
public:
  ParameterUses(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> parameters,
                function_ref<bool(Operation *)> isContraction);

  /// Equal for parameters that are used alike.
  llvm::hash_code get(BlockArgument parameter) const { return uses.find(parameter)->second; }

private:
  llvm::hash_code describe(const ParameterRead &read) const;
  llvm::hash_code describeReaders(Operation *product) const;
  llvm::hash_code describeOther(const ParameterRead &read) const;
  llvm::hash_code describeMakers(const ParameterRead &read) const;

  Block &body;
  DenseSet<Operation *> contractions;
  DenseSet<Operation *> products; ///< with parameters; the other contractions are of activations
  DenseMap<Value, llvm::hash_code> uses;
};

} // namespace mlir::epl
