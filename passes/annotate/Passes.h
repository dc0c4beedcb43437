//===- Passes.h - The annotate phase ---------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/annotate/Passes.h.inc"

/// Adds the passes of the annotate phase, in order.
void buildAnnotatePipeline(OpPassManager &pm);

/// Registers the passes and the pipeline `epl-annotate`.
void registerAnnotatePasses();

} // namespace mlir::epl
