//===- ToLlvm.h - Loop nests in LLVM's IR --------------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/convert/CompileNests.h"

#include "llvm/Support/CodeGen.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::epl {

/// What a target does with floats. Those of 16 bits are computed in f32.
struct FloatSupport {
  bool convertsBf16, convertsHalf; ///< whether it has instructions that convert them from and to f32
  bool hasRegisters;               ///< whether it moves them as they are, or as integers of their bits
  /// Whether it has instructions for maxima that let NaN pass, and an exponential that is faster than a
  /// polynomial.
  bool hasMaxima = false, hasExp = false;
};

/// A module of loop nests, as text, in LLVM's IR for a machine, with the lines of its text. Shares nothing
/// with other calls but `llvmContext`. Null on failure, of which `error` says why.
std::unique_ptr<llvm::Module> convertToLlvm(StringRef text, const FloatSupport &floats,
                                            const llvm::TargetMachine &machine,
                                            llvm::LLVMContext &llvmContext, std::string &error,
                                            Lines lines = Lines::none);

/// Runs passes on a module, by their names in LLVM's pipelines. On failure `error` says why.
LogicalResult runLlvmPasses(StringRef pipeline, llvm::Module &module, llvm::TargetMachine &machine,
                            std::string &error);

/// Writes a module as an object file, or as text for an assembler. `compiled` is called after each of its
/// functions that others see.
ObjectBytes emitCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type,
                     function_ref<void()> compiled);

} // namespace mlir::epl
