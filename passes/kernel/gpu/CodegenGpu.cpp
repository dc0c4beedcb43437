//===- CodegenGpu.cpp - Loop nests to PTX ----------------------------------------===//
//
// Problem: all kernels of a plan must become code for GPUs, of which the one at hand may be of any
// architecture.
//
// Method: the nests are compiled to PTX on several threads (passes/kernel/convert/CompileNests.cpp), which
// the driver compiles for the card when the plan is loaded.
//
// Invariant in: each kernel that no library runs has its `grids`, and a function for each. Invariant out: the
// functions are gone, and one `epl.binary` has an entry for each.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/gpu/PtxModule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::epl {
#define GEN_PASS_DEF_CODEGENGPU
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

struct CodegenGpu : mlir::epl::impl::CodegenGpuBase<CodegenGpu> {
  using CodegenGpuBase::CodegenGpuBase;
  CodegenGpu(const CodegenGpuOptions &options, KernelProgress progress)
      : CodegenGpuBase(options), progress(std::move(progress)) {}

  void runOnOperation() override {
    FailureOr<GpuTarget> target = getGpuTarget(getOperation(), gpu);
    if (failed(target))
      return signalPassFailure();
    Lines lines = lineInfo ? Lines::ofUser : Lines::none;
    auto compile = [&](StringRef text, std::string &error, function_ref<void()> compiled) {
      return compilePtx(text, *target, error, compiled, lines);
    };
    FailureOr<SmallVector<ObjectBytes>> modules =
        compileNests(getOperation(), threads, progress, compile, lines);
    if (failed(modules))
      return signalPassFailure();
    if (!modules->empty() && failed(addBinary(*modules, *target)))
      signalPassFailure();
  }

  LogicalResult addBinary(ArrayRef<ObjectBytes> modules, const GpuTarget &target) {
    std::string error;
    FailureOr<std::string> ptx = joinPtx(modules, error);
    if (failed(ptx))
      return getOperation().emitError() << error;
    auto b = OpBuilder::atBlockEnd(getOperation().getBody());
    BinaryOp::create(b, getOperation().getLoc(), ImageKind::ptx, target.architecture, getPtxVersion(*ptx),
                     b.getStrArrayAttr({}), *ptx);
    return success();
  }

  KernelProgress progress;
};

} // namespace

std::unique_ptr<Pass> mlir::epl::createCodegenGpu(const CodegenGpuOptions &options, KernelProgress progress) {
  return std::make_unique<CodegenGpu>(options, std::move(progress));
}
