//===- Passes.h - The shard phase ---------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/shard/Passes.h.inc"

/// Adds the passes of the shard phase, in order.
void buildShardPipeline(OpPassManager &pm);

/// Registers the passes and the pipeline `epl-shard`.
void registerShardPasses();

} // namespace mlir::epl
