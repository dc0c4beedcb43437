//===- Passes.h - The kernel phase ---------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/kernel/Passes.h.inc"

/// Adds the passes of the kernel phase, in order.
void buildKernelPipeline(OpPassManager &pm);

/// Registers the passes and the pipeline `epl-kernel`.
void registerKernelPasses();

} // namespace mlir::epl
