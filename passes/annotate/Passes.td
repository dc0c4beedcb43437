//===- Passes.td - The annotate phase --------------------------------===//
#ifndef EPL_ANNOTATE_PASSES
#define EPL_ANNOTATE_PASSES

include "mlir/Pass/PassBase.td"

#endif // EPL_ANNOTATE_PASSES
