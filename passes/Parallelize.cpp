//===- Parallelize.cpp - From an annotated step to a local program --------===//

#include "passes/Parallelize.h"

#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"

using namespace mlir;
using namespace mlir::epl;

void mlir::epl::buildParallelizePipeline(OpPassManager &pm, const AnnotateOptions &options) {
  buildAnnotatePipeline(pm, options);
  buildShardPipeline(pm, ShardOptions());
  buildPipelinePipeline(pm, PipelineOptions());
}

void mlir::epl::registerParallelizePipeline() {
  PassPipelineRegistration<AnnotateOptions>(
      "epl-parallelize", "From an annotated step to tasks and collectives", buildParallelizePipeline);
}
