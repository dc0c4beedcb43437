//===- SpreadExperts.h - Replicas share experts -----------------*- C++ -*-===//
//
// Problem: if a mixture of experts is split and there are replicas of it, every replica has all experts, and
// their gradients are summed over "data". Tokens could go to experts of other replicas instead:
//
//   8 experts on data 2 x model 2     data 0            data 1            exchanged
//   split only                        0-3   4-7         0-3   4-7         gradients of all experts
//   spread                            0-1   2-3         4-5   6-7         tokens
//
// Method: experts are a dimension that contractions of the forward work have as a batch dimension, in the
// parameter and in the other operand: no sum is needed wherever it is sharded. Parameters that a task graph
// splits along such a dimension are sharded along it over "data" as well, if the propagated program then
// exchanges fewer bytes and has no more multiply-adds on each device. Parameters of one kind are decided
// together, kinds in program order; the optimizer's state follows by propagation, and the exchange of tokens
// by placement. Reference: Lepikhin et al., "GShard: scaling giant models with conditional computation and
// automatic sharding", 2020.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

namespace mlir::epl {

/// Changes the shardings of those of `states` that hold experts, and of the states that follow them.
///
/// \param states  arguments of floating point whose shardings may change.
/// \param explain  whether to remark, for each kind of experts, what was chosen and what it costs.
void spreadExperts(func::FuncOp program, MeshOp mesh, ArrayRef<BlockArgument> states, bool explain);

} // namespace mlir::epl
