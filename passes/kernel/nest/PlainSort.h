//===- PlainSort.h - The plain loops of a sort ---------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// How the nest around a sort reads an element of a tensor and writes one of a result, at `indices`.
using ReadElement = llvm::function_ref<Value(Value tensor, ArrayRef<Value> indices)>;
using WriteElement = llvm::function_ref<void(Value scalar, Value result, ArrayRef<Value> indices)>;

/// Emits a merge sort of one row after the other, at the builder's place: what faster sorts are compared
/// with. Takes workspace for two copies of a row.
void emitPlainSort(SortOp sort, KernelFunction &function, ReadElement read, WriteElement write);

} // namespace mlir::epl
