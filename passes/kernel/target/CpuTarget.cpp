//===- CpuTarget.cpp - The CPU that kernels are compiled for ---------------------===//

#include "passes/kernel/target/CpuTarget.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace mlir::epl;

// What code for kernels profits from and CPUID tells; LLVM's spelling.
static constexpr StringRef kFeatures[] = {"sse3",     "ssse3",    "sse4.1",   "sse4.2",     "popcnt",
                                          "avx",      "avx2",     "bmi",      "bmi2",       "fma",
                                          "f16c",     "lzcnt",    "movbe",    "avx512f",    "avx512bw",
                                          "avx512cd", "avx512dq", "avx512vl", "avx512bf16", "avx512vbmi"};

unsigned CpuTarget::getVectorBits() const {
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl"))
    return 512;
  return has("avx2") ? 256 : 128;
}

std::string CpuTarget::getFeatureString() const {
  return llvm::join(llvm::map_range(features, [](const std::string &f) { return "+" + f; }), ",");
}

FailureOr<CpuTarget> mlir::epl::getCpuTarget(StringRef cpu) {
  if (cpu != "host" && llvm::X86::parseArchX86(cpu) == llvm::X86::CK_None)
    return failure();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::string error;
  llvm::Triple triple(kCpuTriple);
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  std::string name = cpu == "host" ? llvm::sys::getHostCPUName().str() : cpu.str();
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(backend ? backend->createMCSubtargetInfo(triple, name, "")
                                                           : nullptr);
  if (!subtarget)
    return failure();
  // A name says what the model has; a virtual machine may hide some of it.
  llvm::StringMap<bool> present = llvm::sys::getHostCPUFeatures();
  CpuTarget target{name, {}};
  for (StringRef feature : kFeatures)
    if (cpu == "host" ? present.lookup(feature) : subtarget->checkFeatures(("+" + feature).str()))
      target.features.push_back(feature.str());
  return target;
}

FailureOr<CpuTarget> mlir::epl::getCpuTarget(Operation *op, StringRef cpu) {
  FailureOr<CpuTarget> target = getCpuTarget(cpu);
  if (failed(target))
    op->emitError() << "unknown CPU \"" << cpu
                    << "\" (--cpu or EPL_CPU), expected host, a level (x86-64, x86-64-v2, x86-64-v3, "
                       "x86-64-v4) or a name of LLVM such as znver4";
  return target;
}
