//===- Pipeline.cpp - The pipeline phase, in order ----------------===//

#include "passes/pipeline/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/Passes.h.inc"
} // namespace

void mlir::epl::buildPipelinePipeline(OpPassManager &pm) { pm.addPass(createFuseCollectivesPass()); }

void mlir::epl::registerPipelinePasses() {
  registerEplPipelinePasses();
  PassPipelineRegistration<>("epl-pipeline", "The pipeline phase", buildPipelinePipeline);
}
