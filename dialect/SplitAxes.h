//===- SplitAxes.h - The axes that task graphs are split over ---*- C++ -*-===//
//
// Task graphs that share their devices share a mesh, whatever counts they are split over: it has axes of
// which each count is a product. An axis that a task graph is not split over is one more of its batch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// What the axes are called that are made here: of the batch, of split parameters. Further ones of a role are
/// "data2", "model2" and so on. Whoever has an axis asks for its role instead.
inline constexpr llvm::StringLiteral kDataAxis = "data";
inline constexpr llvm::StringLiteral kModelAxis = "model";

/// An axis of a mesh that task graphs are split over.
struct SplitAxis {
  std::string name;            ///< "model", "model2", and so on, or that of the mesh's axis
  int64_t size;                ///< in devices
  SmallVector<int64_t> counts; ///< the device counts that it is a factor of, ascending

  /// Whether a task graph of that strategy is split over it. One that is not shards its batch over it.
  bool isSplit(StrategyAttr strategy) const {
    return strategy.getKind() == StrategyKind::split && llvm::is_contained(counts, strategy.getDeviceCount());
  }
};

/// Axes such that the count of each of the task graphs that is split is the product of some of them, and that
/// of a count that divides another one is of axes of that one: 2 and 4 give 2 x 2, 4 and 6 give 2 x
/// 2 x 3. The first, "model", has the most counts. None if nothing is split over more than one device.
SmallVector<SplitAxis> getSplitAxes(ArrayRef<TaskGraphOp> taskgraphs);

/// Those of the task graphs of a mesh: the axes of role `model` of the mesh, in order, as far as it has them.
SmallVector<SplitAxis> getSplitAxes(MeshOp mesh);

} // namespace mlir::epl
