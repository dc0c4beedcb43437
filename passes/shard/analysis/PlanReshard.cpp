//===- PlanReshard.cpp - From one sharding to another ---------------------===//
//
// Problem: two shardings of one tensor may differ in any number of dimensions and axes at once, and every
// byte that a member receives takes time.
// Method: make the tensor small, move it, make it large. (1) Slice by the axes that only `to` has, and
// complete what is pending straight into the parts that `to` wants of it (reduce-scatter), in one step.
// (2) Complete the rest (all-reduce). (3) One exchange in the dimensions whose axes change their places, each
// member taking what it lacks from who holds it. (4) Gather what only `from` has. (5) Mask for what is to be
// pending.
//
// What a member receives. From complete to complete: the elements that it needs and lacks, the least
// possible. From pending over P members to parts over them: P - 1 times its part; to all of it on each:
// 2 (P - 1) / P of what it holds, the bounds of Patarasuk and Yuan (J. Parallel Distrib. Comput., 2009).
// Exceptions, where fewer bytes are possible:
//  - what is pending and also moves: parts are completed first and moved then, each at its own bound; if the
//    parts in between do not divide the dimension, an all-reduce takes the place of the reduce-scatter;
//  - members that hold equal addends all add them up; from three on they could share that work;
//  - what becomes pending is first made whole, as far as axes that split it are to be pending or gathered,
//    although all members but the first then drop it.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/PlanReshard.h"

#include "dialect/Sharding.h"

using namespace mlir;
using namespace mlir::epl;

using Axes = SmallVector<StringRef>;

static bool startsWith(ArrayRef<StringRef> axes, ArrayRef<StringRef> prefix) {
  return axes.take_front(prefix.size()) == prefix;
}

namespace {
/// One reshard on its way.
class ReshardPlanner {
public:
  ReshardPlanner(RankedTensorType type, ShardingAttr from, ShardingAttr to, MeshOp mesh)
      : type(type), to(to), mesh(mesh), now(from), pending(from.getPartialAxes()) {
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      dims.push_back(from.getDimAxes(dim));
    // A value is pending by one reduction: another one must be complete first.
    for (StringRef axis : pending)
      if (!llvm::is_contained(to.getPartialAxes(), axis) || from.getReduction() != to.getReduction())
        completed.push_back(axis);
  }

  SmallVector<ReshardStep> run() {
    shrink();
    if (!completed.empty()) {
      llvm::erase_if(pending, [&](StringRef axis) { return llvm::is_contained(completed, axis); });
      add(ReshardStep::Kind::allReduce);
    }
    exchange();
    for (int64_t dim = 0; dim < to.getRank(); ++dim) {
      dims[dim] = to.getDimAxes(dim);
      add(ReshardStep::Kind::allGather, dim);
    }
    if (to.getPartialAxes().size() > pending.size())
      add(ReshardStep::Kind::mask, 0, to);
    return steps;
  }

private:
  ShardingAttr current() const {
    return ShardingAttr::get(to.getContext(), to.getMesh(), dims, pending, now.getReduction());
  }

  void add(ReshardStep::Kind kind, int64_t dim = 0) { add(kind, dim, current()); }
  void add(ReshardStep::Kind kind, int64_t dim, ShardingAttr next) {
    if (next != now)
      steps.push_back({kind, now = next, dim});
  }

  bool isUsed(StringRef axis) const { return now.getDimOf(axis) >= 0 || llvm::is_contained(pending, axis); }

  /// Splits dimension `dim` further by `axis`, which was pending or unused.
  void split(int64_t dim, StringRef axis) {
    dims[dim].push_back(axis);
    llvm::erase(pending, axis);
    llvm::erase(completed, axis);
  }

  void shrink() {
    size_t before = pending.size();
    for (int64_t dim = 0; dim < to.getRank(); ++dim) {
      growPrefix(dim);
      appendCompleted(dim);
    }
    add(pending.size() < before ? ReshardStep::Kind::reduceScatter : ReshardStep::Kind::slice);
  }

  /// Splits as `to` does, as long as all axes before are in their places.
  void growPrefix(int64_t dim) {
    Axes wanted = to.getDimAxes(dim);
    if (!startsWith(wanted, dims[dim]))
      return;
    for (StringRef axis : ArrayRef(wanted).drop_front(dims[dim].size())) {
      if (isUsed(axis) && !llvm::is_contained(completed, axis))
        return;
      split(dim, axis);
    }
  }

  /// Scatters also what will have another place in the dimension.
  void appendCompleted(int64_t dim) {
    for (StringRef axis : to.getDimAxes(dim)) {
      Axes longer = dims[dim];
      longer.push_back(axis);
      if (llvm::is_contained(completed, axis) && type.getDimSize(dim) % getAxesSize(mesh, longer) == 0)
        split(dim, axis);
    }
  }

  /// A dimension waits for its gather if it only loses minor axes, which nothing else needs.
  bool isGathered(int64_t dim) const {
    Axes wanted = to.getDimAxes(dim);
    return startsWith(dims[dim], wanted) &&
           llvm::all_of(ArrayRef(dims[dim]).drop_front(wanted.size()),
                        [&](StringRef axis) { return to.getDimOf(axis) < 0; });
  }

  void exchange() {
    bool samePieces = true;
    for (int64_t dim = 0; dim < to.getRank(); ++dim) {
      if (isGathered(dim))
        continue;
      Axes wanted = to.getDimAxes(dim);
      samePieces &= getAxesSize(mesh, dims[dim]) == getAxesSize(mesh, wanted);
      dims[dim] = wanted;
    }
    add(samePieces ? ReshardStep::Kind::permute : ReshardStep::Kind::allToAll);
  }

  RankedTensorType type;
  ShardingAttr to;
  MeshOp mesh;
  ShardingAttr now;
  SmallVector<Axes> dims; ///< of what comes next, as `pending` is
  Axes pending;
  Axes completed; ///< those of `pending` that do not stay
  SmallVector<ReshardStep> steps;
};
} // namespace

SmallVector<ReshardStep> mlir::epl::planReshard(RankedTensorType type, ShardingAttr from, ShardingAttr to,
                                                MeshOp mesh) {
  assert(from.getRank() == type.getRank() && to.getRank() == type.getRank() && "shardings of the tensor");
  assert(from.getMesh() == to.getMesh() && "a reshard stays on its mesh");
  return ReshardPlanner(type, from, to, mesh).run();
}
