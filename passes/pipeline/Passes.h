//===- Passes.h - The pipeline phase ------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/pipeline/Passes.h.inc"

/// Adds the passes of the pipeline phase, in order.
void buildPipelinePipeline(OpPassManager &pm);

/// Registers the passes and the pipeline `epl-pipeline`.
void registerPipelinePasses();

} // namespace mlir::epl
