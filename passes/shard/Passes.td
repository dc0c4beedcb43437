//===- Passes.td - The shard phase ----------------------------------------===//
#ifndef EPL_SHARD_PASSES
#define EPL_SHARD_PASSES

include "passes/shard/servers/Passes.td"
include "passes/shard/microbatch/Passes.td"
include "passes/shard/stages/Passes.td"
include "passes/shard/prepare/Passes.td"
include "passes/shard/seed/Passes.td"
include "passes/shard/place/Passes.td"
include "passes/shard/localize/Passes.td"
include "passes/shard/owners/Passes.td"
include "passes/shard/tasks/Passes.td"

#endif // EPL_SHARD_PASSES
