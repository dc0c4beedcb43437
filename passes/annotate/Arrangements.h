//===- Arrangements.h - Ops that arrange elements ---------------*- C++ -*-===//
//
// Reshapes, transposes, reversals, broadcasts, and padding or insertion into zeros compute nothing: they are
// the same for elements of any type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/IR/Builders.h"

namespace mlir::epl {

/// The tensor of floats whose elements `op` arranges: all of them, perhaps repeated or among zeros. Null if
/// the op does anything else.
Value getArranged(Operation *op);

/// The elements of `source` as `op` arranges those of `getArranged(op)`. All that is created is of `work`.
Value arrange(OpBuilder &builder, Operation *op, Value source, WorkAttr work);

} // namespace mlir::epl
