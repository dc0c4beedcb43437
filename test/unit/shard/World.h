//===- World.h - Ranks that share a tensor ----------------------*- C++ -*-===//
//
// What each rank of a mesh holds of a tensor, as boxes of global indices and sets of addends of a pending
// sum; what the steps of a reshard make of it by the meaning of their ops; and what each rank receives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"
#include "passes/shard/analysis/PlanReshard.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

namespace mlir::epl {

using Rank = std::vector<int64_t>; ///< its coordinates

struct Interval {
  int64_t begin, end;
  bool operator==(const Interval &) const = default;
};
using Box = std::vector<Interval>;

inline int64_t getSize(const Box &box) {
  int64_t size = 1;
  for (Interval interval : box)
    size *= std::max<int64_t>(interval.end - interval.begin, 0);
  return size;
}

inline Box intersect(Box box, const Box &other) {
  for (auto [a, b] : llvm::zip_equal(box, other))
    a = {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return box;
}

/// What one rank holds of a tensor: a box of it, and which addends of the pending sum, one bit for each. An
/// addend is named by the rank that made it.
struct Holding {
  Box box;
  uint64_t addends;
  bool operator==(const Holding &) const = default;
};

/// The ranks of a mesh whose axes are named "0", "1", ... and a tensor that they share.
class World {
public:
  World(MLIRContext &context, std::vector<int64_t> sizes, std::vector<int64_t> shape)
      : context(context), sizes(std::move(sizes)), shape(std::move(shape)) {
    OpBuilder builder(&context);
    SmallVector<Attribute> axes;
    ranks = {{}};
    for (auto [index, size] : llvm::enumerate(this->sizes)) {
      axes.push_back(AxisAttr::get(&context, getName(index), size, AxisRole::none));
      std::vector<Rank> next;
      for (const Rank &rank : ranks)
        for (int64_t coordinate = 0; coordinate < size; ++coordinate) {
          next.push_back(rank);
          next.back().push_back(coordinate);
        }
      ranks = std::move(next);
    }
    mesh = MeshOp::create(builder, builder.getUnknownLoc(), "mesh", builder.getArrayAttr(axes));
  }
  ~World() { mesh.erase(); }

  MeshOp getMesh() const { return mesh; }
  RankedTensorType getType() const { return RankedTensorType::get(shape, Builder(&context).getF32Type()); }

  /// Every sharding of the tensor: each axis on a dimension, in each order, pending or unused.
  std::vector<ShardingAttr> getShardings() const {
    std::vector<ShardingAttr> shardings;
    Lists lists(shape.size() + 1); // The axes of each dimension, then the pending ones.
    addShardings(0, lists, shardings);
    return shardings;
  }

  /// What each rank holds at the beginning. Along axes that neither split the tensor nor pend, ranks hold the
  /// same.
  std::vector<Holding> begin(ShardingAttr sharding) const {
    std::vector<Holding> holdings;
    for (Rank rank : ranks) {
      Box box = getBox(sharding, rank);
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        if (!isPending(sharding, axis))
          rank[axis] = 0;
      holdings.push_back({box, uint64_t(1) << getPosition(rank)});
    }
    return holdings;
  }

  /// Each rank holds the box that `now` says; together the ranks along pending axes hold each addend of
  /// `began` once, and along the other axes they agree.
  bool isRight(const std::vector<Holding> &holdings, ShardingAttr now, ShardingAttr began) const {
    uint64_t all = 0;
    for (const Holding &holding : begin(began))
      all |= holding.addends;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      uint64_t sum = 0;
      for (size_t member : getMembers(rank, now.getPartialAxes())) {
        if (sum & holdings[member].addends)
          return false;
        sum |= holdings[member].addends;
      }
      if (sum != all || holdings[rank].box != getBox(now, ranks[rank]))
        return false;
    }
    return agree(holdings, now);
  }

  /// Runs one step by the meaning of its op and counts what each rank receives, in twelfths of an element.
  std::vector<Holding> run(const ReshardStep &step, ShardingAttr from, const std::vector<Holding> &before,
                           std::vector<int64_t> &received) const {
    std::vector<Holding> after;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      Holding now = before[rank];
      Box target = getBox(step.to, ranks[rank]);
      std::vector<size_t> group = getMembers(rank, getReducedAxes(mesh, from, step.to));
      int64_t members = int64_t(group.size());
      switch (step.kind) {
      case ReshardStep::Kind::slice:
        EXPECT_EQ(intersect(target, now.box), target) << "slices what is not there";
        break;
      case ReshardStep::Kind::reduceScatter:
        received[rank] += 12 * (members - 1) * getSize(target);
        now.addends = reduce(group, before, target);
        break;
      case ReshardStep::Kind::allReduce:
        received[rank] += 24 * (members - 1) * getSize(target) / members;
        now.addends = reduce(group, before, target);
        break;
      case ReshardStep::Kind::permute:
      case ReshardStep::Kind::allToAll:
      case ReshardStep::Kind::allGather:
        received[rank] += 12 * (getSize(target) - getSize(intersect(target, now.box)));
        collect(getMembers(rank, getMovedAxes(mesh, from, step.to)), target, now, before,
                step.kind == ReshardStep::Kind::permute);
        break;
      case ReshardStep::Kind::mask:
        for (StringRef axis : getReducedAxes(mesh, step.to, from))
          now.addends = ranks[rank][getAxis(axis)] == 0 ? now.addends : 0;
        break;
      }
      now.box = target;
      after.push_back(now);
    }
    return after;
  }

  /// The least that `rank` may receive, in twelfths of an element, or -1 where PlanReshard.cpp lists an
  /// exception.
  int64_t getBound(ShardingAttr from, ShardingAttr to, size_t rank) const {
    Box had = getBox(from, ranks[rank]), needed = getBox(to, ranks[rank]);
    SmallVector<StringRef> reduced = getReducedAxes(mesh, from, to);
    if (reduced.empty() && getReducedAxes(mesh, to, from).empty())
      return 12 * (getSize(needed) - getSize(intersect(needed, had)));
    if (!getReducedAxes(mesh, to, from).empty())
      return -1;
    for (int64_t dim = 0; dim < to.getRank(); ++dim)
      if (!getOwnAxes(from, to, dim).empty())
        return -1; // Something moves or is gathered, too.
    int64_t scattered = 1, whole = 1;
    for (StringRef axis : reduced)
      (to.getDimOf(axis) >= 0 ? scattered : whole) *= sizes[getAxis(axis)];
    return 12 * (scattered - 1) * getSize(needed) + 24 * (whole - 1) * getSize(needed) / whole;
  }

  /// What completing, gathering all and slicing all would move, which is never less.
  int64_t getNaive(ShardingAttr from, ShardingAttr to, size_t rank) const {
    int64_t members = getAxesSize(mesh, getReducedAxes(mesh, from, to)),
            whole = ShapedType::getNumElements(shape);
    int64_t had = getSize(getBox(from, ranks[rank]));
    bool gathers = llvm::any_of(llvm::seq(to.getRank()),
                                [&](int64_t dim) { return !getOwnAxes(from, to, dim).empty(); });
    return 24 * (members - 1) * had / members + (gathers ? 12 * (whole - had) : 0);
  }

  size_t getNumRanks() const { return ranks.size(); }

private:
  using Lists = std::vector<SmallVector<StringRef>>;

  static StringRef getName(size_t axis) {
    static constexpr StringRef names[] = {"0", "1", "2"};
    return names[axis];
  }
  static int64_t getAxis(StringRef name) { return name.front() - '0'; }

  static bool isPending(ShardingAttr sharding, size_t axis) {
    return llvm::is_contained(sharding.getPartialAxes(), getName(axis));
  }

  /// Pending axes stand in mesh order, those of a dimension in any.
  void addShardings(size_t axis, Lists &lists, std::vector<ShardingAttr> &shardings) const {
    if (axis == sizes.size()) {
      auto sharding = ShardingAttr::get(&context, FlatSymbolRefAttr::get(&context, "mesh"),
                                        Lists(lists.begin(), std::prev(lists.end())), lists.back());
      bool divides = llvm::all_of(llvm::enumerate(shape), [&](auto extent) {
        return extent.value() % getAxesSize(mesh, lists[extent.index()]) == 0;
      });
      if (divides)
        shardings.push_back(sharding);
      return;
    }
    addShardings(axis + 1, lists, shardings); // Replicated over this axis.
    for (SmallVector<StringRef> &list : lists)
      for (size_t size = list.size(), at = &list == &lists.back() ? size : 0; at <= size; ++at) {
        list.insert(list.begin() + at, getName(axis));
        addShardings(axis + 1, lists, shardings);
        list.erase(list.begin() + at);
      }
  }

  Box getBox(ShardingAttr sharding, const Rank &rank) const {
    Box box;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      Interval interval{0, extent};
      for (StringRef axis : sharding.getDimAxes(dim)) {
        int64_t part = (interval.end - interval.begin) / sizes[getAxis(axis)];
        interval.begin += part * rank[getAxis(axis)];
        interval.end = interval.begin + part;
      }
      box.push_back(interval);
    }
    return box;
  }

  size_t getPosition(const Rank &rank) const {
    size_t position = 0;
    for (auto [coordinate, size] : llvm::zip_equal(rank, sizes))
      position = position * size + coordinate;
    return position;
  }

  /// The ranks that differ from one on `axes` only.
  std::vector<size_t> getMembers(size_t rank, ArrayRef<StringRef> axes) const {
    std::vector<size_t> members;
    for (size_t other = 0; other < ranks.size(); ++other)
      if (llvm::all_of(llvm::seq(sizes.size()), [&](size_t axis) {
            return ranks[rank][axis] == ranks[other][axis] || llvm::is_contained(axes, getName(axis));
          }))
        members.push_back(other);
    return members;
  }

  bool agree(const std::vector<Holding> &holdings, ShardingAttr now) const {
    SmallVector<StringRef> others;
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      if (!isPending(now, axis))
        others.push_back(getName(axis));
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (size_t member : getMembers(rank, others))
        if (holdings[member].addends != holdings[rank].addends)
          return false;
    return true;
  }

  /// The addends of `target`, which all members hold.
  static uint64_t reduce(const std::vector<size_t> &members, const std::vector<Holding> &before,
                         const Box &target) {
    uint64_t sum = 0;
    for (size_t member : members) {
      EXPECT_EQ(intersect(target, before[member].box), target) << "a member lacks what it should add";
      EXPECT_EQ(sum & before[member].addends, 0U) << "something is added twice";
      sum |= before[member].addends;
    }
    return sum;
  }

  /// The members' boxes, each counted once, cover `target`; if `isWhole`, one of them is it.
  static void collect(const std::vector<size_t> &members, const Box &target, const Holding &own,
                      const std::vector<Holding> &before, bool isWhole) {
    std::vector<Box> boxes;
    for (size_t member : members)
      if (before[member].addends == own.addends && !llvm::is_contained(boxes, before[member].box))
        boxes.push_back(before[member].box);
    int64_t found = 0;
    for (const Box &box : boxes)
      found += getSize(intersect(target, box));
    EXPECT_EQ(found, getSize(target)) << "nobody holds a part of it";
    EXPECT_TRUE(!isWhole || llvm::is_contained(boxes, target)) << "is in pieces";
  }

  MLIRContext &context;
  std::vector<int64_t> sizes, shape;
  std::vector<Rank> ranks;
  MeshOp mesh;
};

} // namespace mlir::epl
