//===- Pipeline.cpp - The annotate phase, in order -------------------===//

#include "passes/annotate/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/annotate/Passes.h.inc"
} // namespace

void mlir::epl::buildAnnotatePipeline(OpPassManager &pm) {}

void mlir::epl::registerAnnotatePasses() {
  registerEplAnnotatePasses();
  PassPipelineRegistration<>("epl-annotate", "The annotate phase", buildAnnotatePipeline);
}
