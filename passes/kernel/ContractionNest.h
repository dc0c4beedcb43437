//===- ContractionNest.h - Tiled loop nests of contractions --------*- C++ -*-===//
#pragma once

#include "passes/kernel/ContractionTiling.h"
#include "passes/kernel/KernelFunction.h"

namespace mlir::epl {

/// The slices of the nest: the iterations of its outermost loop, or one if all share copies of operands.
int64_t getExtent(const ContractionTiling &tiling);

/// Fills `function` with the loops of `tiling`.
void emitContractionNest(const ContractionTiling &tiling, KernelFunction &function);

} // namespace mlir::epl
