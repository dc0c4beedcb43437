//===- Passes.h - The shard phase ---------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/shard/Passes.h.inc"

/// What the shard phase may be told.
struct ShardOptions : PassPipelineOptions<ShardOptions> {
  Option<bool> explainSplit{*this, "explain-split",
                            llvm::cl::desc("Remark for each kind of parameter how it is split, what that "
                                           "costs and what was next"),
                            llvm::cl::init(false)};
};

/// Adds the passes of the shard phase, in order.
void buildShardPipeline(OpPassManager &pm, const ShardOptions &options);

/// Registers the passes and the pipeline `epl-shard`.
void registerShardPasses();

} // namespace mlir::epl
