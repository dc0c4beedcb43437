//===- ElementContraction.h - Contractions element by element ------*- C++ -*-===//
#pragma once

#include "passes/kernel/match/ContractionLoops.h"
#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// Fills `function` with loops over the elements of the result, which are the indices of the extent: each is
/// computed by itself.
void emitElementContraction(const ContractionParts &contraction, KernelFunction &function);

} // namespace mlir::epl
