//===- Pipeline.cpp - The shard phase, in order ---------------------------===//

#include "passes/shard/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"
} // namespace

void mlir::epl::buildPlacePipeline(OpPassManager &pm, const ShardOptions &options) {
  pm.addPass(createUnrollLoopsPass());
  pm.addPass(createSplitMeshesPass());
  pm.addPass(createSimplifyBranchesPass());
  pm.addPass(createSinkLeafWorkPass());
  pm.addPass(createRematerializePass());
  pm.addPass(createRematerializeIterationsPass());
  pm.addPass(createSeedConstraintsPass());
  pm.addPass(createExpandSegmentsPass());
  pm.addPass(createSeedBatchPass());
  pm.addPass(createSeedIterationsPass());
  pm.addPass(createSeedLayoutsPass());
  pm.addPass(createSeedSplitPass({options.explainSplit}));
  pm.addPass(createSeedZeroPass({options.zero}));
  if (options.sequenceParallel)
    pm.addPass(createSeedSequencePass());
  pm.addPass(createPropagatePass());
  pm.addPass(createPlacePass({options.explainSharding}));
  pm.addPass(createVerifyShardedPass());
}

void mlir::epl::buildLocalizePipeline(OpPassManager &pm) {
  pm.addPass(createLocalizePass());
  pm.addPass(createVerifyLocalPass());
  pm.addPass(createFormTasksPass());
  pm.addPass(createVerifyTasksPass());
}

void mlir::epl::buildShardPipeline(OpPassManager &pm, const ShardOptions &options) {
  buildPlacePipeline(pm, options);
  buildLocalizePipeline(pm);
}

void mlir::epl::registerShardPasses() {
  registerEplShardPasses();
  PassPipelineRegistration<ShardOptions>("epl-shard", "The shard phase", buildShardPipeline);
}
