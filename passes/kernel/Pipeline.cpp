//===- Pipeline.cpp - The kernel phase, in order -------------------===//

#include "passes/kernel/Passes.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
#define GEN_PASS_REGISTRATION
#include "passes/kernel/Passes.h.inc"
} // namespace

void mlir::epl::buildKernelPipeline(OpPassManager &pm) {
  // Clusters are formed of generics and contractions: gathers become the former, and transposes part of the
  // latter, so that neither is an op that stands between two others.
  pm.addPass(createDecomposeGathers());
  pm.addPass(createSimplifyGenerics());
  pm.addPass(createNormalizeContractions());
  pm.addPass(createAccumulateContractions());
  pm.addPass(createFormKernels());
  // Outlined before they are matched: equal clusters are one kernel, which is looked at once.
  pm.addPass(createOutlineKernels());
  pm.addPass(createMatchContractions());
  pm.addPass(createMatchCopies());
  // Last, since only kernels with loop nests of their own may work in place.
  pm.addPass(createMarkInPlace());
  pm.addPass(createVerifyKernels());
}

void mlir::epl::buildCodegenPipeline(OpPassManager &pm, const CodegenOptions &options) {
  if (!options.gpu.empty()) {
    pm.addPass(createFoldEpilogues());
    pm.addPass(createMatchConvolutions());
    pm.addPass(createMatchAttention());
  }
  LowerKernelsOptions lower;
  lower.cpu = options.cpu;
  lower.gpu = options.gpu;
  lower.loops = options.loops;
  pm.addPass(createLowerKernels(lower));
  if (!options.gpu.empty()) {
    CodegenGpuOptions codegen;
    codegen.gpu = options.gpu;
    codegen.lineInfo = options.lineInfo;
    codegen.threads = options.threads;
    pm.addPass(createCodegenGpu(codegen, options.progress));
    return;
  }
  CodegenCpuOptions codegen;
  codegen.cpu = options.cpu;
  codegen.threads = options.threads;
  codegen.loops = options.loops;
  pm.addPass(createCodegenCpu(codegen, options.progress));
}

void mlir::epl::registerKernelPasses() {
  registerEplKernelPasses();
  PassPipelineRegistration<>("epl-kernel", "The kernel phase", buildKernelPipeline);
  PassPipelineRegistration<>("epl-codegen", "Outlined kernels to machine code of this machine",
                             [](OpPassManager &pm) { buildCodegenPipeline(pm); });
}
