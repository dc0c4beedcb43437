//===- Bytes.h - The memory that tensors take -------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mlir::epl {

/// The most elements that a tensor of a program may have: more than any memory holds, and so few that
/// extents, bytes and their products with small factors are exact in 64 bits.
constexpr int64_t kMostElements = int64_t(1) << 40;

/// Whether a tensor of static shape has more, an extent of 0 counting as one.
bool hasTooManyElements(RankedTensorType type);

/// The bytes of an element in memory: a boolean has one, an index eight.
int64_t getElementBytes(Type element);

/// The bytes of a tensor whose elements lie side by side; 0 if its shape is dynamic.
int64_t getBytes(RankedTensorType type);

/// The same of a value; 0 for what is no tensor.
int64_t getBytes(Value value);

} // namespace mlir::epl
