//===- InsertReshards.h - Every change of distribution is an op -*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/AxisPlacement.h"

namespace mlir::epl {

/// How much `insertReshards` did.
struct InsertedReshards {
  size_t mended = 0;         ///< values that a use needs otherwise than they are made
  size_t rematerialized = 0; ///< copies of ops that are made again instead of being resharded
};

/// Gives every use of a tensor in the program of `rules` the sharding that it needs: one `epl.reshard` for
/// each value and target, right after the value. `placements` are committed, one for each axis of the mesh.
InsertedReshards insertReshards(const FunctionRules &rules, ArrayRef<AxisPlacement> placements);

} // namespace mlir::epl
