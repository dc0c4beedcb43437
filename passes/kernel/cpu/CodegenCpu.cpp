//===- CodegenCpu.cpp - Loop nests to one ELF image ------------------------------===//
//
// Problem: all kernels of a plan must become machine code of one CPU.
//
// Method: the nests are compiled on several threads (passes/kernel/convert/CompileNests.cpp), and the objects
// are linked into one shared object.
//
// Invariant in: each kernel that no library runs has its function. Invariant out: the functions are gone, and
// one `epl.binary` has a symbol for each of those kernels.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cpu/CpuObject.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::epl {
#define GEN_PASS_DEF_CODEGENCPU
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

struct CodegenCpu : mlir::epl::impl::CodegenCpuBase<CodegenCpu> {
  using CodegenCpuBase::CodegenCpuBase;
  CodegenCpu(const CodegenCpuOptions &options, KernelProgress progress)
      : CodegenCpuBase(options), progress(std::move(progress)) {}

  void runOnOperation() override {
    FailureOr<CpuTarget> target = getCpuTarget(getOperation(), cpu);
    if (failed(target))
      return signalPassFailure();
    CodeStyle style = loops ? CodeStyle::loops : CodeStyle::vectorized;
    auto compile = [&](StringRef text, std::string &error, function_ref<void()> compiled) {
      return compileCpuObject(text, *target, style, error, compiled);
    };
    FailureOr<SmallVector<ObjectBytes>> objects = compileNests(getOperation(), threads, progress, compile);
    if (failed(objects))
      return signalPassFailure();
    if (!objects->empty() && failed(addBinary(*objects, *target)))
      signalPassFailure();
  }

  LogicalResult addBinary(ArrayRef<ObjectBytes> objects, const CpuTarget &target) {
    std::string error;
    FailureOr<ObjectBytes> image = linkSharedObject(objects, error);
    if (failed(image))
      return getOperation().emitError() << error;
    auto b = OpBuilder::atBlockEnd(getOperation().getBody());
    SmallVector<StringRef> features(target.features.begin(), target.features.end());
    BinaryOp::create(b, getOperation().getLoc(), ImageKind::elf, target.cpu, /*isa=*/0,
                     b.getStrArrayAttr(features), StringRef(image->data(), image->size()));
    return success();
  }

  KernelProgress progress;
};

} // namespace

std::unique_ptr<Pass> mlir::epl::createCodegenCpu(const CodegenCpuOptions &options, KernelProgress progress) {
  return std::make_unique<CodegenCpu>(options, std::move(progress));
}
