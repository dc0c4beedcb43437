//===- Elementwise.h - What is cheap to do once more ------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Operation.h"

namespace mlir::epl {

/// Whether an op only lays out, fills or computes element by element.
bool isElementwise(Operation *op);

} // namespace mlir::epl
