//===- PlanReshard.cpp - From one sharding to another ---------------------===//
//
// Problem: two shardings of one tensor may differ in any number of dimensions and axes at once.
// Method: three phases, each dimension by dimension. Complete what is pending; gather what a dimension has
// beyond the axes that both shardings begin with; slice by the axes that it then lacks. All gathers come
// before all slices, so that an axis that moves from one dimension to another is free when it is needed, and
// every sharding on the way is valid.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/PlanReshard.h"

using namespace mlir;
using namespace mlir::epl;

/// `sharding` with dimension `dim` split by `axes` alone.
static ShardingAttr withDim(ShardingAttr sharding, int64_t dim, Attribute axes) {
  SmallVector<Attribute> dims(sharding.getDims().getValue());
  dims[dim] = axes;
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                           ArrayAttr::get(sharding.getContext(), dims), sharding.getPartial(),
                           sharding.getReduction());
}

/// The axes that both lists begin with.
static ArrayAttr getCommonPrefix(ArrayAttr a, ArrayAttr b) {
  auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return ArrayAttr::get(a.getContext(), a.getValue().take_front(end - a.begin()));
}

SmallVector<ReshardStep> mlir::epl::planReshard(ShardingAttr from, ShardingAttr to) {
  SmallVector<ReshardStep> steps;
  ShardingAttr now = from.withoutPartial();
  if (from.isPartial())
    steps.push_back({ReshardStep::Kind::allReduce, 0, now});
  auto add = [&](ReshardStep::Kind kind, int64_t dim, ShardingAttr next) {
    if (next != now)
      steps.push_back({kind, dim, now = next});
  };
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    ArrayAttr kept = getCommonPrefix(cast<ArrayAttr>(now.getDims()[dim]), cast<ArrayAttr>(to.getDims()[dim]));
    add(ReshardStep::Kind::allGather, dim, withDim(now, dim, kept));
  }
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    add(ReshardStep::Kind::slice, dim, withDim(now, dim, to.getDims()[dim]));
  return steps;
}
