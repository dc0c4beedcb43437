//===- PlanReshardTest.cpp - The reshard algebra on index sets ------------===//
//
// Every pair of shardings on small meshes: the steps of `planReshard` are run on what each rank holds, as
// sets of global indices and of addends of the pending sum, and must end (and stand in between) where the
// shardings say.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/PlanReshard.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace mlir::epl;

namespace {

constexpr int64_t kExtent = 12; // Divisible by every product of the axis sizes below.

/// What one rank holds of a tensor: the global indices along each dimension, and which addends of the pending
/// sum are in it, each named by the coordinates of the rank that made it.
struct Holding {
  std::vector<std::vector<int64_t>> indices;
  std::set<std::vector<int64_t>> addends;
  bool operator==(const Holding &) const = default;
};

/// The ranks of a mesh whose axes are named "0", "1", ....
class Mesh {
public:
  Mesh(MLIRContext &context, std::vector<int64_t> sizes) : context(context), sizes(std::move(sizes)) {
    ranks = {{}};
    for (int64_t size : this->sizes) {
      std::vector<std::vector<int64_t>> next;
      for (const auto &rank : ranks)
        for (int64_t coordinate = 0; coordinate < size; ++coordinate) {
          next.push_back(rank);
          next.back().push_back(coordinate);
        }
      ranks = std::move(next);
    }
  }

  /// Every sharding of a tensor of `rank` dimensions: each axis on a dimension, in each order, pending or
  /// unused.
  std::vector<ShardingAttr> getShardings(int64_t rank) const {
    std::vector<ShardingAttr> shardings;
    Lists lists(rank + 1); // The axes of each dimension, then the pending ones.
    addShardings(0, lists, shardings);
    return shardings;
  }

  /// What the ranks hold of a tensor with that sharding. Which addends are not yet there follows from what is
  /// pending in the sharding that it `began` with.
  std::vector<Holding> getHoldings(ShardingAttr sharding, ShardingAttr began) const {
    std::vector<Holding> holdings;
    for (const auto &rank : ranks)
      holdings.push_back({getIndices(sharding, rank), getAddends(sharding, began, rank)});
    return holdings;
  }

  /// Runs one step by the meaning of its op.
  std::vector<Holding> run(const ReshardStep &step, ShardingAttr from,
                           const std::vector<Holding> &before) const {
    std::vector<Holding> after;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      switch (step.kind) {
      case ReshardStep::Kind::allReduce:
        after.push_back(reduce(getMembers(ranks[rank], from.getPartialAxes()), before));
        break;
      case ReshardStep::Kind::allGather: {
        SmallVector<StringRef> axes = from.getDimAxes(step.dim);
        size_t kept = step.to.getDimAxes(step.dim).size();
        after.push_back(before[rank]);
        after.back().indices[step.dim] =
            gather(getMembers(ranks[rank], ArrayRef(axes).drop_front(kept)), step.dim, before);
        break;
      }
      case ReshardStep::Kind::slice: {
        SmallVector<StringRef> axes = step.to.getDimAxes(step.dim);
        size_t had = from.getDimAxes(step.dim).size();
        after.push_back(before[rank]);
        after.back().indices[step.dim] =
            slice(before[rank].indices[step.dim], ArrayRef(axes).drop_front(had), ranks[rank]);
        break;
      }
      }
    }
    return after;
  }

private:
  using Lists = std::vector<SmallVector<StringRef>>;

  static int64_t getAxis(StringRef name) { return name.front() - '0'; }

  void addShardings(size_t axis, Lists &lists, std::vector<ShardingAttr> &shardings) const {
    static constexpr StringRef names[] = {"0", "1", "2"};
    if (axis == sizes.size()) {
      auto mesh = FlatSymbolRefAttr::get(&context, "mesh");
      shardings.push_back(ShardingAttr::get(
          &context, mesh, SmallVector<SmallVector<StringRef>>(lists.begin(), std::prev(lists.end())),
          lists.back()));
      return;
    }
    addShardings(axis + 1, lists, shardings); // Replicated over this axis.
    for (SmallVector<StringRef> &list : lists)
      for (size_t position = 0, size = list.size(); position <= size; ++position) {
        list.insert(list.begin() + position, names[axis]);
        addShardings(axis + 1, lists, shardings);
        list.erase(list.begin() + position);
      }
  }

  /// This rank's part of `indices` when `axes`, major to minor, split them.
  std::vector<int64_t> slice(std::vector<int64_t> indices, ArrayRef<StringRef> axes,
                             const std::vector<int64_t> &rank) const {
    for (StringRef name : axes) {
      int64_t axis = getAxis(name), part = indices.size() / sizes[axis];
      auto begin = indices.begin() + part * rank[axis];
      indices = std::vector<int64_t>(begin, begin + part);
    }
    return indices;
  }

  std::vector<std::vector<int64_t>> getIndices(ShardingAttr sharding,
                                               const std::vector<int64_t> &rank) const {
    std::vector<int64_t> all(kExtent);
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::vector<int64_t>> indices;
    for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
      indices.push_back(slice(all, sharding.getDimAxes(dim), rank));
    return indices;
  }

  /// An addend is named by coordinates on the axes that were pending at the beginning, 0 on the others.
  std::set<std::vector<int64_t>> getAddends(ShardingAttr sharding, ShardingAttr began,
                                            const std::vector<int64_t> &holder) const {
    std::set<std::vector<int64_t>> addends;
    for (std::vector<int64_t> rank : ranks) {
      bool isHeld = llvm::all_of(sharding.getPartialAxes(), [&](StringRef axis) {
        return rank[getAxis(axis)] == holder[getAxis(axis)];
      });
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        if (!llvm::is_contained(began.getPartialAxes(), std::to_string(axis)))
          rank[axis] = 0;
      if (isHeld)
        addends.insert(rank);
    }
    return addends;
  }

  /// The positions of the ranks that differ from `rank` on `axes` only, the first axis major.
  std::vector<size_t> getMembers(const std::vector<int64_t> &rank, ArrayRef<StringRef> axes) const {
    std::vector<std::vector<int64_t>> members = {rank};
    for (StringRef name : axes) {
      std::vector<std::vector<int64_t>> next;
      for (const auto &member : members)
        for (int64_t coordinate = 0; coordinate < sizes[getAxis(name)]; ++coordinate) {
          next.push_back(member);
          next.back()[getAxis(name)] = coordinate;
        }
      members = std::move(next);
    }
    std::vector<size_t> positions;
    for (const auto &member : members)
      positions.push_back(llvm::find(ranks, member) - ranks.begin());
    return positions;
  }

  static Holding reduce(const std::vector<size_t> &members, const std::vector<Holding> &before) {
    Holding sum = before[members.front()];
    for (size_t member : members) {
      EXPECT_EQ(before[member].indices, sum.indices) << "members add different parts of the tensor";
      sum.addends.insert(before[member].addends.begin(), before[member].addends.end());
    }
    return sum;
  }

  static std::vector<int64_t> gather(const std::vector<size_t> &members, int64_t dim,
                                     const std::vector<Holding> &before) {
    std::vector<int64_t> joined;
    for (size_t member : members)
      joined.insert(joined.end(), before[member].indices[dim].begin(), before[member].indices[dim].end());
    return joined;
  }

  MLIRContext &context;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> ranks; ///< the coordinates of each rank
};

std::string describe(ShardingAttr from, ShardingAttr to) {
  std::string text;
  llvm::raw_string_ostream(text) << from << " to " << to;
  return text;
}

class PlanReshardTest : public ::testing::TestWithParam<std::vector<int64_t>> {
protected:
  PlanReshardTest() { context.loadDialect<EplDialect>(); }

  void checkPair(const Mesh &mesh, ShardingAttr from, ShardingAttr to) {
    SCOPED_TRACE(describe(from, to));
    ShardingAttr now = from;
    std::vector<Holding> holdings = mesh.getHoldings(from, from);
    for (const ReshardStep &step : planReshard(from, to)) {
      holdings = mesh.run(step, now, holdings);
      now = step.to;
      ASSERT_EQ(holdings, mesh.getHoldings(now, from));
    }
    EXPECT_EQ(now, to);
  }

  MLIRContext context;
};

TEST_P(PlanReshardTest, EveryPairEndsWhereItsShardingsSay) {
  Mesh mesh(context, GetParam());
  for (int64_t rank : {0, 1, 2})
    for (ShardingAttr from : mesh.getShardings(rank))
      for (ShardingAttr to : mesh.getShardings(rank))
        if (!to.isPartial() && !HasFatalFailure())
          checkPair(mesh, from, to);
}

TEST_P(PlanReshardTest, EqualShardingsNeedNoStep) {
  Mesh mesh(context, GetParam());
  for (ShardingAttr sharding : mesh.getShardings(2))
    if (!sharding.isPartial())
      EXPECT_TRUE(planReshard(sharding, sharding).empty());
}

using Sizes = std::vector<int64_t>;
INSTANTIATE_TEST_SUITE_P(Meshes, PlanReshardTest,
                         ::testing::Values(Sizes{1}, Sizes{2}, Sizes{2, 3}, Sizes{2, 3, 2}));

} // namespace
