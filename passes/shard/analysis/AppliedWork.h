//===- AppliedWork.h - What applies gradients -------------------*- C++ -*-===//
//
// Gradients are applied by ops of the kind apply, and by forward work on states alone of which nobody else
// reads the result: a decayed moment or weight, a count of steps. No tracer says of these what they are for,
// and what they read are no gradients. They are done once in a step, where what they read is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// These ops of a global program; none of an iteration over micro-batches.
DenseSet<Operation *> findAppliedWork(func::FuncOp function);

} // namespace mlir::epl
