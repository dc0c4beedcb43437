//===- DeadOps.h - What no result depends on --------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Block.h"

namespace mlir::epl {

/// Erases the ops of the body of a step that no result of it depends on, and no effect; how many there were.
unsigned eraseDeadOps(Block &body);

} // namespace mlir::epl
