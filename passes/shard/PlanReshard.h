//===- PlanReshard.h - From one sharding to another -------------*- C++ -*-===//
//
// What a reshard is made of, as a pure function of two shardings: passes turn the steps into ops, tests run
// them on index sets.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// One step of a reshard: the value has sharding `to` after it.
struct ReshardStep {
  enum class Kind {
    allReduce, ///< completes the pending reduction
    allGather, ///< joins the parts of `dim` over its minor axes, which `to` lacks
    slice ///< keeps this rank's part of `dim` over the axes that `to` adds as minor ones; no communication
  };
  Kind kind;
  int64_t dim; ///< of allGather and slice
  ShardingAttr to;
};

/// The steps that bring a value of sharding `from` to sharding `to`, in order; none if they are equal. Both
/// are on one mesh and of one rank; `to` is not partial.
SmallVector<ReshardStep> planReshard(ShardingAttr from, ShardingAttr to);

} // namespace mlir::epl
