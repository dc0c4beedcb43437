//===- IndexSets.h - Members hold what they read ----------------*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

namespace mlir::epl {

/// Fails, with an error at the op, if some member of `axis` does not hold an element that it reads, or an
/// element is added to a pending result by no member or by several. States are those of values on this axis.
LogicalResult verifyIndexSets(Operation *op, AxisAttr axis, StateOf getState);

} // namespace mlir::epl
