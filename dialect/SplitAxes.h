//===- SplitAxes.h - The axes that task graphs are split over ---*- C++ -*-===//
//
// Task graphs that share their devices share a mesh, whatever counts they are split over: it has axes of
// which each count is a product. An axis that a task graph is not split over is one more of its batch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// An axis of a mesh that task graphs are split over.
struct SplitAxis {
  std::string name;            ///< "model", "model2", and so on
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

} // namespace mlir::epl
