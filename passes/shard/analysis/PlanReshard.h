//===- PlanReshard.h - From one sharding to another -------------*- C++ -*-===//
//
// The steps that bring a tensor from one sharding to another, as a pure function of the two: `epl-localize`
// turns the steps into slices and collectives, tests run them on index sets. Examples, on axes a and b:
//
//   from                      to            steps
//   [{}, {}]                  [{a}, {}]     slice
//   [{a}, {}]                 [{}, {}]      allGather of dimension 0
//   [{a}, {}]                 [{}, {a}]     allToAll
//   [{}, {}] partial sum{a}   [{}, {}]      allReduce
//   [{}, {}] partial sum{a}   [{a}, {}]     reduceScatter
//   [{b}, {}] partial sum{a}  [{}, {a}]     reduceScatter to [{b}, {a}], allGather of dimension 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// One step of a reshard: the value has sharding `to` after it.
struct ReshardStep {
  enum class Kind {
    slice,         ///< keeps this rank's part over axes that `to` adds; no communication
    reduceScatter, ///< completes what was pending over some axes; each member keeps its part over them
    allReduce,     ///< completes what was pending over some axes, on every member
    allToAll,      ///< brings each member to its part by `to`, from the parts that others hold
    permute,       ///< the same where each part by `to` is the whole part of one member
    allGather,     ///< joins the parts of `dim` over its minor axes, which `to` lacks
    mask           ///< makes a value pending: first members keep it, others hold the neutral element
  };
  Kind kind;
  ShardingAttr to;
  int64_t dim = 0; ///< of allGather
};

/// The steps that bring a tensor of `type` from sharding `from` to sharding `to`, in order; none if they are
/// equal. Both are on `mesh` and fit the type. In which order pending axes are listed makes no difference.
SmallVector<ReshardStep> planReshard(RankedTensorType type, ShardingAttr from, ShardingAttr to, MeshOp mesh);

} // namespace mlir::epl
