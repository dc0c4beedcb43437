//===- Passes.h - The pipeline phase ------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/pipeline/Passes.h.inc"

/// What the pipeline phase may be told.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<bool> broadcasts{*this, "broadcasts", llvm::cl::desc("Join broadcasts, too"), llvm::cl::init(true)};
  Option<int64_t> maxSplits{
      *this, "max-splits",
      llvm::cl::desc("Into how many groups gradients are joined; 0: as the machine wants it"),
      llvm::cl::init(0)};
};

/// Adds the passes of the pipeline phase, in order.
void buildPipelinePipeline(OpPassManager &pm, const PipelineOptions &options);

/// Registers the passes and the pipeline `epl-pipeline`.
void registerPipelinePasses();

} // namespace mlir::epl
