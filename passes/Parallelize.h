//===- Parallelize.h - From an annotated step to a local program -*- C++ -*-===//
#pragma once

#include "passes/annotate/Passes.h"

namespace mlir::epl {

/// Adds the phases that decide who computes what, in order: annotate, shard, pipeline. In: a step as
/// docs/design.md 4.1 describes it. Out: tasks and collectives for each device of the mesh.
void buildParallelizePipeline(OpPassManager &pm, const AnnotateOptions &options);

/// Registers the pipeline `epl-parallelize`.
void registerParallelizePipeline();

} // namespace mlir::epl
