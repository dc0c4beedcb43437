//===- Pipeline.cpp - The kernel phase, in order -------------------===//

#include "passes/kernel/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/kernel/Passes.h.inc"
} // namespace

void mlir::epl::buildKernelPipeline(OpPassManager &pm) {
  pm.addPass(createNormalizeContractions());
  pm.addPass(createFormKernels());
  pm.addPass(createOutlineKernels());
  pm.addPass(createMatchContractions());
  pm.addPass(createVerifyKernels());
}

void mlir::epl::registerKernelPasses() {
  registerEplKernelPasses();
  PassPipelineRegistration<>("epl-kernel", "The kernel phase", buildKernelPipeline);
}
