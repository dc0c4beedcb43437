//===- ParameterReads.h - Where a step multiplies by a parameter -*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

namespace mlir::epl {

/// A contraction or a gather that reads a parameter in the forward work, maybe through ops that only move its
/// elements.
struct ParameterRead {
  Operation *op;
  /// For each dimension of what is read the argument's dimension that it is, or -1.
  ArrayRef<int64_t> dims;
  ArrayRef<int64_t> factors; ///< the factor of `op` that walks each
};

/// Calls `found` for the reads of `argument` by task graphs that do not shard their batch over `axis` while
/// others are split over it. Dimensions are followed through ops where `axis` can shard them.
void walkReads(const FunctionRules &rules, AxisAttr axis, BlockArgument argument,
               function_ref<bool(Operation *)> isContraction,
               function_ref<void(const ParameterRead &)> found);

/// The name of an argument with "#" for each number in it: that of its kind.
std::string getKindName(BlockArgument argument);

} // namespace mlir::epl
