// What lld asks of LLVM for every target that it was built for, where programs link LLVM's archives with the
// backend of x86 alone: the other targets have nothing to initialize. Likewise Polly, a plugin of LLVM's
// optimizer.

#include "llvm/Plugins/PassPlugin.h"

// Ours for x86 get names that nobody calls; the backend has the true ones.
#define LLVMInitializeX86TargetInfo eplUnusedX86TargetInfo
#define LLVMInitializeX86Target eplUnusedX86Target
#define LLVMInitializeX86TargetMC eplUnusedX86TargetMC
#define LLVMInitializeX86AsmPrinter eplUnusedX86AsmPrinter
#define LLVMInitializeX86AsmParser eplUnusedX86AsmParser

extern "C" {
#define LLVM_TARGET(name)                                                                                    \
  void LLVMInitialize##name##TargetInfo() {}                                                                 \
  void LLVMInitialize##name##Target() {}                                                                     \
  void LLVMInitialize##name##TargetMC() {}
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PRINTER(name)                                                                               \
  void LLVMInitialize##name##AsmPrinter() {}
#include "llvm/Config/AsmPrinters.def"
#define LLVM_ASM_PARSER(name)                                                                                \
  void LLVMInitialize##name##AsmParser() {}
#include "llvm/Config/AsmParsers.def"
}

llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }
