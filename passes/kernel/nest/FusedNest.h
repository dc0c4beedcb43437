//===- FusedNest.h - Fused, vectorized loop nests of a kernel ------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/FusionPlan.h"
#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// Fills `function` with the loops of `plan`, on vectors of `vectorBits`. `inPlace` holds for each result the
/// input that shares its storage, or -1.
void emitFusedNest(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace, unsigned vectorBits,
                   KernelFunction &function);

/// Of the pairs in `inPlace` those that the loops of `plan` respect: no element of the input is read after
/// the result's element was stored there. The others become -1.
SmallVector<int32_t> keepInPlace(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace);

} // namespace mlir::epl
