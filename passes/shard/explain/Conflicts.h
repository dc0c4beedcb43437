//===- Conflicts.h - Shardings that were wanted and dropped -----*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/AxisPlacement.h"

namespace mlir::epl {

/// Remarks, once for each kind, where operands of an op, or an operand and what is said of it, are split in
/// different ways over one axis: which way is kept, which is dropped, and why. Needs the `placements` of all
/// axes, committed, of a program that has no new reshards yet.
void explainConflicts(const FunctionRules &rules, ArrayRef<AxisPlacement> placements);

} // namespace mlir::epl
