//===- KernelValues.h - Where a kernel's values are ----------------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/FusionPlan.h"
#include "passes/kernel/nest/KernelFunction.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::epl {

/// Where the kernel's values are, while its function is built.
struct KernelValues {
  DenseMap<Value, Value> buffers;   // tensors that come in or are written
  DenseMap<Value, Value> constants; // where constant tensors are read from
  IRMapping scalars;                // everything else
};

/// Places all values of a kernel that its stages read or write: operands where the function has them,
/// temporaries where `findHost` says or, if that is null, in the workspace, as is whatever stages hand on in
/// memory.
void placeValues(KernelOp kernel, FusionPlan &plan, KernelFunction &function, KernelValues &values,
                 function_ref<Value(Value temporary)> findHost);

} // namespace mlir::epl
