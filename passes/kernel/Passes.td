//===- Passes.td - The kernel phase --------------------------------===//
#ifndef EPL_KERNEL_PASSES
#define EPL_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

#endif // EPL_KERNEL_PASSES
