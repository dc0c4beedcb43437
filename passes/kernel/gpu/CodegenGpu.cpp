//===- CodegenGpu.cpp - Loop nests to PTX ----------------------------------------===//
//
// Problem: all kernels of a plan must become code for GPUs, of which the one at hand may be of any
// architecture.
//
// Method: the nests are compiled to PTX on several threads (passes/kernel/convert/CompileNests.cpp), which
// the driver compiles for the card when the plan is loaded. Each kernel gets a grid with a thread for each
// index of its extent.
//
// Invariant in: each kernel that no library runs has its function. Invariant out: the functions are gone,
// those kernels have a `grid`, and one `epl.binary` has an entry for each.
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

// Threads of a warp, which run together, and of a block. Blocks of a grid are numbered with 31 bits; what
// they do not reach, threads do in further rounds.
static constexpr int64_t kWarp = 32, kMostThreads = 128, kMostBlocks = std::numeric_limits<int32_t>::max();

static GridAttr makeGrid(KernelOp kernel) {
  int64_t extent = std::max<int64_t>(kernel.getExtent().value_or(1), 1);
  int64_t threads = std::min<int64_t>(llvm::alignTo(extent, kWarp), kMostThreads);
  int64_t blocks = std::min<int64_t>(llvm::divideCeil(extent, threads), kMostBlocks);
  return GridAttr::get(kernel.getContext(), blocks, threads, /*shared=*/0, /*slice=*/1);
}

namespace {

struct CodegenGpu : mlir::epl::impl::CodegenGpuBase<CodegenGpu> {
  using CodegenGpuBase::CodegenGpuBase;
  CodegenGpu(const CodegenGpuOptions &options, KernelProgress progress)
      : CodegenGpuBase(options), progress(std::move(progress)) {}

  void runOnOperation() override {
    FailureOr<GpuTarget> target = getGpuTarget(getOperation(), gpu);
    if (failed(target))
      return signalPassFailure();
    setGrids();
    auto compile = [&](StringRef text, std::string &error, function_ref<void()> compiled) {
      return compilePtx(text, *target, error, compiled);
    };
    FailureOr<SmallVector<ObjectBytes>> modules = compileNests(getOperation(), threads, progress, compile);
    if (failed(modules))
      return signalPassFailure();
    if (!modules->empty() && failed(addBinary(*modules, *target)))
      signalPassFailure();
  }

  void setGrids() {
    for (func::FuncOp nest : getNests(getOperation()))
      if (KernelOp kernel = getKernel(nest))
        kernel.setGridAttr(makeGrid(kernel));
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
