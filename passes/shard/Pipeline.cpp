//===- Pipeline.cpp - The shard phase, in order ---------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/ops/Models.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"
} // namespace

void mlir::epl::buildPlacePipeline(OpPassManager &pm, const ShardOptions &options) {
  // A loop is on one mesh, so those with parts on several, or cut into stages, are unrolled before meshes are
  // split; after that each function has one mesh, and no pass below knows of others. Micro-batches are a loop
  // of the whole step, whatever meshes it is on.
  pm.addPass(createUnrollLoopsPass());
  pm.addPass(createFindStagesPass({options.microBatches, options.explainStages}));
  pm.addPass(createSplitStacksPass());
  pm.addPass(createFormMicroBatchesPass({options.microBatches}));
  // What is computed again is decided on the whole step, whose iterations are known by now, and while it is
  // known which values go from one mesh to another.
  pm.addPass(createRecomputePass({options.recompute, options.recomputeEnd}));
  pm.addPass(createSplitMeshesPass());

  // What is computed where is decided on the whole program: shardings can't change what is kept for the
  // backward work. Residuals of branches first, since a selection would hide what they are made of; leaf work
  // sinks before rematerialization, which asks in which work a value is read.
  pm.addPass(createSimplifyBranchesPass());
  pm.addPass(createSinkLeafWorkPass());
  pm.addPass(createRematerializePass());
  pm.addPass(createRematerializeIterationsPass());

  // What another step holds otherwise than whole is made so, before anything is said of how it is sharded.
  pm.addPass(createRaiseArrangementsPass());

  // Constraints are checked while they name the dimensions that the user wrote; segments then rewrite both.
  // All seeds below see the expanded program.
  pm.addPass(createSeedConstraintsPass());
  pm.addPass(createExpandSegmentsPass());

  // Every argument gets a sharding from the batch. What is given comes before what is searched for: an
  // argument that arrives sharded is no choice of the split. ZeRO and sequence parallelism take what the
  // split has left whole. Where rows are exchanged depends on the parts of a gradient that are asked for.
  pm.addPass(createSeedBatchPass());
  pm.addPass(createSeedIterationsPass());
  pm.addPass(createSeedLayoutsPass());
  pm.addPass(createSeedResultsPass());
  pm.addPass(createSeedSplitPass({options.explainSplit}));
  pm.addPass(createSeedZeroPass({options.zero}));
  if (!options.sparseAsDense)
    pm.addPass(createSeedRowsPass());
  if (options.sequenceParallel)
    pm.addPass(createSeedSequencePass());

  pm.addPass(createPropagatePass());
  pm.addPass(createPlacePass({options.explainSharding}));
  pm.addPass(createVerifyShardedPass());
}

void mlir::epl::buildLocalizePipeline(OpPassManager &pm, const ShardOptions &options) {
  // Tasks are formed of local ops: what lies between two collectives is known only when these are there.
  pm.addPass(createLocalizePass());
  pm.addPass(createVerifyLocalPass());
  if (options.splitBackward)
    pm.addPass(createSplitBackwardPass());
  if (options.owners)
    pm.addPass(createAssignOwnersPass({options.explainSharding}));
  if (options.gradientType != GradientType::f32) // whoever gets a sum, which owners decide
    pm.addPass(createNarrowGradientsPass({options.gradientType, options.gradientScale}));
  pm.addPass(createFormTasksPass());
  pm.addPass(createVerifyTasksPass());
}

void mlir::epl::buildShardPipeline(OpPassManager &pm, const ShardOptions &options) {
  buildPlacePipeline(pm, options);
  buildLocalizePipeline(pm, options);
}

void mlir::epl::registerShardModels(DialectRegistry &registry) {
  registerIndexedModels(registry);
  registerJoinModels(registry);
  registerLinalgModels(registry);
  registerLoopModels(registry);
  registerMatrixModels(registry);
  registerReshapeModels(registry);
  registerSliceModels(registry);
  registerValueModels(registry);
}

void mlir::epl::registerShardPasses() {
  registerEplShardPasses();
  PassPipelineRegistration<ShardOptions>("epl-shard", "The shard phase", buildShardPipeline);
}
