//===- Causes.h - Why values change their distribution ----------*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

namespace mlir::epl {

/// Gives each reshard of a placed program an `epl.cause`: the tensor, the op whose result is distributed
/// otherwise than its readers need it, and the readers.
void explainReshards(func::FuncOp program, MeshOp mesh);

/// Remarks where pending sums and other reductions are completed and for whom, once for equal ones of several
/// layers.
void remarkSums(func::FuncOp program);

} // namespace mlir::epl
