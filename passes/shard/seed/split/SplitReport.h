//===- SplitReport.h - How parameters are split, as a table -----*- C++ -*-===//
#pragma once

#include "passes/shard/seed/split/SplitConstraints.h"
#include "passes/shard/seed/split/SplitSearch.h"

namespace mlir::epl {

/// Remarks at the function, as one table, what the axis splits: a row for each kind of parameter in the order
/// of the arguments, with the bytes that the program exchanges as chosen and along the next best dimension,
/// and one for each state that stays whole because the user wants it. Lines of the table begin with "| ".
void explainSplit(func::FuncOp function, AxisAttr axis, ArrayRef<ParameterKind> kinds,
                  const Propagation &result, const SplitConstraints &constraints);

} // namespace mlir::epl
