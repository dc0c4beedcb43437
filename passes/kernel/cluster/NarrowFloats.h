//===- NarrowFloats.h - Floats of 16 bits --------------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::epl {

/// Whether the elements of `type`, or it itself, are f16 or bf16: kernels hold them, and compute in f32.
inline bool isNarrowFloat(Type type) { return isa<Float16Type, BFloat16Type>(getElementTypeOrSelf(type)); }

} // namespace mlir::epl
