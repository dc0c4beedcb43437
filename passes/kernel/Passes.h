//===- Passes.h - The kernel phase ---------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/kernel/Passes.h.inc"

/// Adds the passes of the kernel phase, in order.
void buildKernelPipeline(OpPassManager &pm);

/// How kernels become machine code.
struct CodegenOptions {
  /// The CPU by LLVM's name; "host" is this machine.
  std::string cpu = "host";
  /// Threads that compile.
  unsigned threads = 2;
  /// Scalar loops, compiled quickly and without contraction of float operations: for references and tests.
  bool loops = false;
};

/// Adds the passes that turn outlined kernels into an `epl.binary`.
void buildCodegenPipeline(OpPassManager &pm, const CodegenOptions &options = {});

/// Registers the passes and the pipelines `epl-kernel` and `epl-codegen`.
void registerKernelPasses();

} // namespace mlir::epl
