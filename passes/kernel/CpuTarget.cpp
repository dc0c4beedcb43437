//===- CpuTarget.cpp - The CPU that kernels are compiled for ---------------------===//

#include "passes/kernel/CpuTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
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
  llvm::StringSet<> available;
  if (cpu == "host") {
    cpu = llvm::sys::getHostCPUName();
    for (auto &feature : llvm::sys::getHostCPUFeatures())
      if (feature.second)
        available.insert(feature.first());
  } else {
    if (llvm::X86::parseArchX86(cpu) == llvm::X86::CK_None)
      return failure();
    SmallVector<StringRef> features;
    llvm::X86::getFeaturesForCPU(cpu, features);
    available.insert_range(features);
  }
  CpuTarget target{cpu.str(), {}};
  for (StringRef feature : kFeatures)
    if (available.contains(feature))
      target.features.push_back(feature.str());
  return target;
}
