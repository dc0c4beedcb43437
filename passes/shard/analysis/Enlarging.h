//===- Enlarging.h - Tensors that are larger than what they say -*- C++ -*-===//
#pragma once

#include "mlir/IR/Value.h"

namespace mlir::epl {

/// The operand of which `op` makes a larger tensor by zeros round it or by repeating its elements; null for
/// other ops. To have the result elsewhere it is cheaper to move the operand and do the op there again.
Value getEnlarged(Operation *op);

/// The bytes that move where `value` is needed in another distribution: of what ops enlarge to it.
int64_t getMovedBytes(Value value);

} // namespace mlir::epl
