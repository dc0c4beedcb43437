#include "runtime/plan/model/Blocks.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime {
namespace {

using Coordinates = std::vector<int64_t>; // one for each axis of the plan
using Box = std::vector<ElementRange>;    // one for each dimension

/// How axes split the dimensions of a tensor.
class Distribution {
public:
  Distribution(const plan::PlanT &plan, const std::vector<int64_t> &shape, const DimShardings &sharding)
      : plan(plan), extents(partShape(plan, shape, sharding)) {
    for (const auto &dim : sharding) {
      std::vector<size_t> &positions = axes.emplace_back();
      for (const std::string &name : dim->axes)
        positions.push_back(size_t(
            std::ranges::find(plan.axes, name, [](const auto &axis) -> const auto & { return axis->name; }) -
            plan.axes.begin()));
      assert(std::ranges::all_of(positions, [&](size_t axis) { return axis < plan.axes.size(); }) &&
             "a sharding's axes are the plan's");
    }
  }

  int64_t extent(size_t dim) const { return extents[dim]; }

  /// The part at some coordinates.
  Box boxAt(const Coordinates &coordinates) const {
    Box box;
    for (size_t dim = 0; dim < axes.size(); ++dim) {
      int64_t index = 0;
      for (size_t axis : axes[dim])
        index = index * int64_t(plan.axes[axis]->size) + coordinates[axis];
      box.push_back({index * extents[dim], (index + 1) * extents[dim]});
    }
    return box;
  }

  /// Moves `coordinates` to where part `index` of dimension `dim` is.
  void moveTo(size_t dim, int64_t index, Coordinates &coordinates) const {
    for (auto axis = axes[dim].rbegin(); axis != axes[dim].rend(); ++axis) {
      coordinates[*axis] = index % int64_t(plan.axes[*axis]->size);
      index /= int64_t(plan.axes[*axis]->size);
    }
  }

private:
  const plan::PlanT &plan;
  std::vector<int64_t> extents;          // of a part
  std::vector<std::vector<size_t>> axes; // their positions in the plan, for each dimension
};

/// Makes one run of the innermost loops as far as they pass adjacent elements on both sides.
void join(SharedBox &box) {
  while (!box.loops.empty() && box.loops.back().sourceStride == box.run &&
         box.loops.back().targetStride == box.run) {
    box.run *= box.loops.back().extent;
    box.loops.pop_back();
  }
}

/// What the boxes of source and target have in common.
SharedBox share(const Box &source, const Box &target) {
  assert(source.size() == target.size() && "boxes of one tensor");
  SharedBox shared{0, 0};
  int64_t sourceStride = 1, targetStride = 1;
  for (size_t dim = source.size(); dim-- > 0;) {
    int64_t begin = std::max(source[dim].begin, target[dim].begin);
    int64_t extent = std::min(source[dim].end, target[dim].end) - begin;
    shared.source += (begin - source[dim].begin) * sourceStride;
    shared.target += (begin - target[dim].begin) * targetStride;
    if (extent != 1)
      shared.loops.insert(shared.loops.begin(), {extent, sourceStride, targetStride});
    sourceStride *= source[dim].end - source[dim].begin;
    targetStride *= target[dim].end - target[dim].begin;
  }
  join(shared);
  return shared;
}

bool isEmpty(const Box &box) {
  return std::ranges::any_of(box, [](ElementRange range) { return range.begin == range.end; });
}

} // namespace

int64_t partCount(const plan::PlanT &plan, const plan::DimShardingT &sharding) {
  int64_t parts = 1;
  for (const std::string &name : sharding.axes)
    for (const auto &axis : plan.axes)
      if (axis->name == name)
        parts *= axis->size;
  return parts;
}

std::vector<int64_t> partShape(const plan::PlanT &plan, const std::vector<int64_t> &shape,
                               const DimShardings &sharding) {
  std::vector<int64_t> part = shape;
  assert(part.size() == sharding.size() && "a sharding says something of each dimension");
  for (size_t dim = 0; dim < part.size(); ++dim)
    part[dim] /= partCount(plan, *sharding[dim]);
  return part;
}

SharedBox boxOf(const plan::PlanT &plan, const Mesh &mesh, const plan::ReducedBlocksT &tensor,
                uint32_t rank) {
  Box whole;
  for (int64_t extent : tensor.shape)
    whole.push_back({0, extent});
  return share(whole, Distribution(plan, tensor.shape, tensor.sharding).boxAt(mesh.coordinates(rank)));
}

/// Who holds the parts that make up `needed`, one of each: from `start` along the axes that split.
static std::vector<Coordinates> holdersOf(const Distribution &from, const Box &needed, Coordinates start) {
  std::vector<Coordinates> holders{std::move(start)};
  for (size_t dim = 0; dim < needed.size(); ++dim) {
    std::vector<Coordinates> next;
    for (Coordinates &holder : holders)
      for (int64_t part = needed[dim].begin / from.extent(dim); part * from.extent(dim) < needed[dim].end;
           ++part) {
        from.moveTo(dim, part, holder);
        next.push_back(holder);
      }
    holders = std::move(next);
  }
  return holders;
}

std::vector<Piece> piecesOf(const plan::PlanT &plan, const Mesh &mesh, const plan::ExchangeBlocksT &exchange,
                            uint32_t rank) {
  Distribution from(plan, exchange.shape, exchange.from), to(plan, exchange.shape, exchange.to);
  Coordinates mine = mesh.coordinates(rank);
  Box needed = to.boxAt(mine);
  if (isEmpty(needed))
    return {};
  std::vector<Piece> pieces;
  for (const Coordinates &holder : holdersOf(from, needed, mine))
    pieces.push_back({mesh.rankAt(holder), share(from.boxAt(holder), needed)});
  return pieces;
}

std::vector<std::vector<Piece>> fetchesOf(const plan::PlanT &from, const plan::SendT &send,
                                          const plan::PlanT &to, const plan::ReceiveT &receive) {
  Mesh senders(from), receivers(to);
  Distribution sent(from, send.shape, send.sharding), received(to, receive.shape, receive.sharding);
  std::vector<std::vector<Piece>> fetches(receivers.devices());
  for (uint32_t rank = 0; rank < receivers.devices(); ++rank) {
    Box needed = received.boxAt(receivers.coordinates(rank));
    if (isEmpty(needed))
      continue;
    // What does not split the tensor says which of the copies: another one for each receiver.
    Coordinates start = senders.coordinates(rank % senders.devices());
    for (const Coordinates &holder : holdersOf(sent, needed, start))
      fetches[rank].push_back({senders.rankAt(holder), share(sent.boxAt(holder), needed)});
  }
  return fetches;
}

} // namespace epl::runtime
