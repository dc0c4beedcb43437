//===- ThreadedNest.h - Fused loop nests on the threads of a GPU ---*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"
#include "passes/kernel/nest/ThreadPlan.h"

namespace mlir::epl {

/// Fills the functions of a kernel, one for each of the launches that run `plan`.
void emitThreadedNests(KernelOp kernel, FusionPlan &plan, ArrayRef<ThreadPhase> phases,
                       ArrayRef<int32_t> inPlace, ArrayRef<KernelFunction *> functions);

} // namespace mlir::epl
