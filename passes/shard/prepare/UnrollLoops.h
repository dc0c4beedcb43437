//===- UnrollLoops.h - Iterations as ops of their own -----------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// Why a loop cannot stay one, as the end of "the loop of 4 iterations ...", and where that is seen.
struct UnrollReason {
  std::string text;
  Location place;
};

/// Writes the ops of `loops` down for each iteration, with a remark that says why. Fails, with an error, if
/// a loop would become too many ops.
LogicalResult unrollLoops(func::FuncOp function, const llvm::MapVector<LoopAttr, UnrollReason> &loops);

} // namespace mlir::epl
