//===- SharedTranspose.h - Transposes on the threads of a GPU ------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/ThreadPlan.h"
#include "passes/kernel/nest/TransposeNest.h"

namespace mlir::epl {

/// The launch that runs a transpose of matrices, tile by tile; nothing if tiles would be almost empty.
std::optional<ThreadPhase> planSharedTranspose(const Transpose &transpose);

/// Fills `function` with it.
void emitSharedTranspose(const Transpose &transpose, const ThreadPhase &phase, KernelFunction &function);

} // namespace mlir::epl
