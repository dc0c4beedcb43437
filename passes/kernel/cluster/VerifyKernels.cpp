//===- VerifyKernels.cpp - The invariant of the kernel phase --------------===//

#include "passes/kernel/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {
struct VerifyKernelsPass : epl::impl::VerifyKernelsBase<VerifyKernelsPass> {
  void runOnOperation() override {
    if (failed(verifyLevel(getOperation(), Level::kernels)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
