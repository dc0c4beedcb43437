//===- GeneralNest.h - Op by op loop nests of a kernel -------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// Fills `function` with one loop nest for each op of `kernel`, values between them in the workspace. The
/// loops are scalar but for those of scatters, which work on vectors of `vectorBits` unless that is 0. Right
/// for every op that a kernel may hold, in the order of the ops and of their loops: what the other forms are
/// compared with. An op it does not know is an error.
LogicalResult emitGeneralNest(KernelOp kernel, KernelFunction &function, unsigned vectorBits);

} // namespace mlir::epl
