//===- ScatterNest.h - Loop nests of scatters ----------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// Where a kernel has the elements of a tensor: in a linear buffer, or all are one scalar.
struct TensorSource {
  Value buffer, splat;
};

/// Emits the loops of `op` at the function's insertion point: they write all of `result`. Runs of elements
/// are combined as vectors of `vectorBits`, one by one if that is 0. `getSource` answers for the operands.
void emitScatterNest(ScatterOp op, Value result, function_ref<TensorSource(Value)> getSource,
                     KernelFunction &function, unsigned vectorBits);

} // namespace mlir::epl
