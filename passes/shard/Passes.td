//===- Passes.td - The shard phase --------------------------------===//
#ifndef EPL_SHARD_PASSES
#define EPL_SHARD_PASSES

include "mlir/Pass/PassBase.td"

#endif // EPL_SHARD_PASSES
