//===- SpreadExperts.h - Replicas share experts -----------------*- C++ -*-===//
//
// Of a mixture of experts that is split, with data parallelism round it, every replica has all experts and
// sums all their gradients over "data", though tokens could go to experts anywhere. A dimension that
// contractions of the forward work have as a batch dimension, in the parameter and in what it is multiplied
// by, needs no sum wherever it is sharded: the experts. Parameters that a task graph splits along such a
// dimension are sharded along it over "data", too, if the propagated program then has no more multiply-adds
// on each device and exchanges fewer bytes. Parameters of one kind are decided together, in program order;
// optimizer state follows by propagation. What exchanges the tokens is what propagation and placement make of
// it. Reference: Lepikhin et al., "GShard: scaling giant models with conditional computation and automatic
// sharding", 2020.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

namespace mlir::epl {

/// Changes the shardings of those of `states` that are experts, and of what follows them.
///
/// \param states  of floating point, that need not stay as they are.
/// \param explain  remark for each kind of experts what was chosen and what it costs.
void spreadExperts(func::FuncOp program, MeshOp mesh, ArrayRef<BlockArgument> states, bool explain);

} // namespace mlir::epl
