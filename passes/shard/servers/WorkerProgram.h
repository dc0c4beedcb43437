//===- WorkerProgram.h - What of a step a worker does -----------*- C++ -*-===//
#pragma once

#include "passes/shard/servers/StepSplit.h"

namespace mlir::epl {

/// What the arguments and results of a worker's program are.
struct WorkerSignature {
  SmallVector<unsigned> arguments; ///< of the step
  SmallVector<unsigned> results;   ///< of the step; behind them stand the values that are pushed
};

/// The signature of the program that `makeWorkerProgram` makes of a step.
WorkerSignature getWorkerSignature(const StepSplit &split);

/// Makes the worker's program of the step, in its place: states that servers hold are constants to it, or no
/// arguments at all, and what it pushes stands behind its results.
void makeWorkerProgram(const StepSplit &split);

} // namespace mlir::epl
