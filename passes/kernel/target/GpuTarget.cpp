//===- GpuTarget.cpp - The GPU that kernels are compiled for ---------------------===//

#include "passes/kernel/target/GpuTarget.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace mlir::epl;

// With conversions of bf16 in hardware.
static constexpr unsigned kLeastArchitecture = 80;

static void initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static bool isKnown(StringRef architecture) {
  initializeBackend();
  std::string error;
  llvm::Triple triple(kGpuTriple);
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(backend ? backend->createMCSubtargetInfo(triple, "", "")
                                                           : nullptr);
  return subtarget && subtarget->isCPUStringValid(architecture);
}

FailureOr<GpuTarget> mlir::epl::getGpuTarget(Operation *op, StringRef architecture) {
  StringRef number = architecture;
  unsigned version = 0;
  if (!number.consume_front("sm_") || number.consumeInteger(10, version) || version < kLeastArchitecture ||
      !isKnown(architecture))
    return op->emitError() << "unknown GPU \"" << architecture
                           << "\" (--gpu), expected an architecture from sm_80 on, such as sm_90";
  return GpuTarget{architecture.str()};
}
