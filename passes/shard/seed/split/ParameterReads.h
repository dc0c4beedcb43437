//===- ParameterReads.h - Where a step multiplies by a parameter -*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

namespace mlir::epl {

/// A contraction or a gather that reads a parameter in the forward work, maybe through ops that only move its
/// elements.
struct ParameterRead {
  Operation *op;
  unsigned operand; ///< that is what is read
  /// For each dimension of what is read the argument's dimension that it is, or -1.
  ArrayRef<int64_t> dims;
  ArrayRef<int64_t> factors; ///< the factor of `op` that walks each
};

/// Calls `found` for the reads of `argument` by task graphs that do not shard their batch over `axis` while
/// others are split over it. Dimensions are followed through ops where `axis` can shard them.
void walkReads(const FunctionRules &rules, AxisAttr axis, BlockArgument argument,
               function_ref<bool(Operation *)> isContraction,
               function_ref<void(const ParameterRead &)> found);

/// The name of an argument with "#" for each number in it, which people read for all of a kind.
std::string getKindName(BlockArgument argument);

/// How parameters are used, whatever they are called: what a product with one is made of, and who reads it.
/// Four square matrices of attention are told apart by that, and those of equal layers are not.
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
/// What lies further away is not looked at, so that the first and the last layer are like the others.
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

  Block &body;
  DenseSet<Operation *> contractions;
  DenseSet<Operation *> products; ///< with parameters; the other contractions are of activations
  DenseMap<Value, llvm::hash_code> uses;
};

} // namespace mlir::epl
