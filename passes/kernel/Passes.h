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

/// Called when `done` of `total` kernels are compiled, by any thread; calls do not overlap.
using KernelProgress = std::function<void(size_t done, size_t total)>;

/// How kernels become machine code.
struct CodegenOptions {
  /// The CPU by LLVM's name; "host" is this machine.
  std::string cpu = "host";
  /// The architecture of GPUs, such as "sm_80", instead of a CPU; empty: a CPU.
  std::string gpu{};
  /// Code for GPUs says of each instruction which source line it is of.
  bool lineInfo = false;
  /// Threads that compile.
  unsigned threads = 2;
  /// Scalar loops, compiled quickly and without contraction of float operations: for references and tests.
  bool loops = false;
  /// Hears of every kernel; may be empty.
  KernelProgress progress{};
};

/// The pass `epl-codegen-cpu` with somebody who hears of its progress.
std::unique_ptr<Pass> createCodegenCpu(const CodegenCpuOptions &options, KernelProgress progress);

/// The same for `epl-codegen-gpu`.
std::unique_ptr<Pass> createCodegenGpu(const CodegenGpuOptions &options, KernelProgress progress);

/// Adds the passes that turn outlined kernels into an `epl.binary`.
void buildCodegenPipeline(OpPassManager &pm, const CodegenOptions &options = {});

/// Registers the passes and the pipelines `epl-kernel` and `epl-codegen`.
void registerKernelPasses();

} // namespace mlir::epl
