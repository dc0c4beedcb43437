//===- Pipeline.cpp - The annotate phase, in order ------------------------===//

#include "passes/annotate/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/annotate/Passes.h.inc"
} // namespace

void mlir::epl::buildAnnotatePipeline(OpPassManager &pm, const AnnotateOptions &options) {
  pm.addPass(createSymbolDCEPass()); // front ends inline calls and leave the callees
  pm.addPass(createVerifyInputPass());
  // Defaults become scopes and named ops become general ones while scopes are still regions; flattening
  // stamps each op with its scope, and what comes after reads stamps only.
  pm.addNestedPass<func::FuncOp>(createApplyDefaultsPass({.findStages = options.findStages > 0}));
  pm.addNestedPass<func::FuncOp>(createGeneralizeOpsPass());
  pm.addNestedPass<func::FuncOp>(
      createFlattenScopesPass({.stages = std::max(int64_t(1), int64_t(options.findStages))}));
  bool isStaged = options.numStages > 0 || !options.stageMeshes.empty();
  pm.addPass(createFormTaskgraphsPass(
      {.colocate = options.colocate, .devices = options.devices, .keepUnnamed = isStaged}));
  pm.addNestedPass<func::FuncOp>(createCSEPass()); // not before: it merges ops of two task graphs
  // After the merging of equal values, each of which is rounded once; before all that asks how large values
  // are.
  if (options.lowerPrecision)
    pm.addNestedPass<func::FuncOp>(createLowerPrecisionPass({.explain = options.explainPrecision}));
  // Meshes need the counts of all task graphs, so these are complete before.
  pm.addPass(createAssignMeshesPass({.devices = options.devices,
                                     .colocate = options.colocate,
                                     .numStages = options.numStages,
                                     .stageMeshes = llvm::to_vector(options.stageMeshes)}));
  pm.addPass(createVerifyGlobalPass());
}

void mlir::epl::registerAnnotatePasses() {
  registerEplAnnotatePasses();
  PassPipelineRegistration<AnnotateOptions>(
      "epl-annotate", "From an annotated step to the flat global program", buildAnnotatePipeline);
}
