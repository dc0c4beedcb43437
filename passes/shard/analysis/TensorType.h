//===- TensorType.h - The type of a value that is a tensor ------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mlir::epl {

/// The type of `value`, which is a ranked tensor: all tensors of a step are (epl-annotate refuses others).
inline RankedTensorType getTensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

} // namespace mlir::epl
