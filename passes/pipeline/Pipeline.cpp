//===- Pipeline.cpp - The pipeline phase, in order ----------------===//

#include "passes/pipeline/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/Passes.h.inc"
} // namespace

void mlir::epl::buildPipelinePipeline(OpPassManager &pm, const PipelineOptions &options) {
  // Behind the shard phase, when all collectives are there, and before kernels: no kernel depends on which
  // collectives are joined.
  FuseCollectivesPassOptions fuse;
  fuse.broadcasts = options.broadcasts;
  fuse.maxSplits = options.maxSplits;
  pm.addPass(createFuseCollectivesPass(fuse));
}

void mlir::epl::registerPipelinePasses() {
  registerEplPipelinePasses();
  PassPipelineRegistration<PipelineOptions>("epl-pipeline", "The pipeline phase", buildPipelinePipeline);
}
