// Which blocks of a tensor a rank combines in a reduce-scatter and copies in an all-to-all.

#ifndef EPL_RUNTIME_PLAN_MODEL_BLOCKS_H
#define EPL_RUNTIME_PLAN_MODEL_BLOCKS_H

#include "runtime/plan/model/Mesh.h"

#include <memory>
#include <span>

namespace epl::runtime {

using DimShardings = std::vector<std::unique_ptr<plan::DimShardingT>>;

/// A box of elements that two row-major tensors share, as runs of adjacent elements; in elements.
struct SharedBox {
  struct Loop {
    int64_t extent, sourceStride, targetStride;
  };
  int64_t source, target; // where it begins
  std::vector<Loop> loops{};
  int64_t run = 1;

  /// Calls `visit` with where each run begins in source and target.
  template <typename Visit> void forEachRun(const Visit &visit) const {
    visitLoops(loops, source, target, visit);
  }

private:
  template <typename Visit>
  static void visitLoops(std::span<const Loop> loops, int64_t source, int64_t target, const Visit &visit) {
    if (loops.empty())
      return visit(source, target);
    for (int64_t i = 0; i < loops[0].extent; ++i)
      visitLoops(loops.subspan(1), source + i * loops[0].sourceStride, target + i * loops[0].targetStride,
                 visit);
  }
};

/// The number of parts that the axes of one dimension make.
int64_t partCount(const plan::PlanT &plan, const plan::DimShardingT &sharding);

/// The extents of the part of `shape` that each rank holds; rounded down where the sharding does not divide,
/// which the verifier reports.
std::vector<int64_t> partShape(const plan::PlanT &plan, const std::vector<int64_t> &shape,
                               const DimShardings &sharding);

/// What `rank` combines: the box in the memory of each member, and in its own target.
SharedBox boxOf(const plan::PlanT &plan, const Mesh &mesh, const plan::ReducedBlocksT &tensor, uint32_t rank);

/// What a rank copies from the memory of one other, or from its own.
struct Piece {
  uint32_t holder; // the rank
  SharedBox box;
};

/// All that makes up the target of `rank`; none if that is empty.
std::vector<Piece> piecesOf(const plan::PlanT &plan, const Mesh &mesh, const plan::ExchangeBlocksT &exchange,
                            uint32_t rank);

/// For each rank that receives, where it finds its part of a channel's tensor: in what ranks of the sending
/// part hold. Those that hold copies take turns, so that each serves as many.
std::vector<std::vector<Piece>> fetchesOf(const plan::PlanT &from, const plan::SendT &send,
                                          const plan::PlanT &to, const plan::ReceiveT &receive);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_BLOCKS_H
