//===- StageReport.h - Where a step is cut, as a table ----------*- C++ -*-===//
#pragma once

#include "passes/shard/stages/StageCuts.h"
#include "passes/shard/stages/WorkChain.h"

namespace mlir::epl {

/// Remarks at the function what each stage of `cuts` takes and sends in a step, and the next best cut.
void explainStages(func::FuncOp function, const WorkChain &work, const StageChain &chain,
                   const StageCuts &cuts);

} // namespace mlir::epl
