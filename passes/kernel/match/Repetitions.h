//===- Repetitions.h - Contractions of what is repeated ---------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::epl {

/// Has a contraction whose operand repeats a tensor along a dimension, as `repeat` of JAX does for heads,
/// read what is broadcast: the loop along that dimension becomes two, of which one repeats. The contraction
/// is replaced; null, and nothing is done, if none of its operands does that.
linalg::GenericOp splitRepeatedLoop(linalg::GenericOp op);

} // namespace mlir::epl
