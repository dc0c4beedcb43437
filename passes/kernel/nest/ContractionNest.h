//===- ContractionNest.h - Tiled loop nests of contractions --------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/ContractionTiling.h"
#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// The slices of the nest: the iterations of its outermost loop, or one if all share what is done first, such
/// as copies of operands.
int64_t getExtent(const TiledContraction &tiled);

/// Fills `function` with the loops of `tiled`.
void emitContractionNest(const TiledContraction &tiled, KernelFunction &function);

} // namespace mlir::epl
