//===- LoopWriter.h - A placed step as loops over micro-batches -*- C++ -*-===//
#pragma once

#include "passes/shard/microbatch/LoopAssignment.h"

namespace mlir::epl {

/// Writes, before the function of `rules`, one of the same name, arguments and results that does in loops
/// what `assignment` says. Of a batch and of a result with samples the program's type is (.., micro-batches,
/// samples of one, ..); the caller's shape is kept in `epl.caller_shape`.
func::FuncOp writeLoops(const FunctionRules &rules, AxisAttr axis, const LoopAssignment &assignment);

/// Passes the number of the iteration of `loop` to the ops that read `index`, the result of an
/// `epl.axis_index`, as an operand: a global program has no such op, which is erased.
void passIterationNumber(Value index, LoopAttr loop);

} // namespace mlir::epl
