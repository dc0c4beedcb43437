//===- WidenAccumulators.h - Reductions of narrow floats in f32 ----*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Makes the reductions of bf16 and f16 in `kernel` accumulate in f32.
void widenAccumulators(KernelOp kernel);

} // namespace mlir::epl
