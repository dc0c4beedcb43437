//===- TaskGraphAxes.h - What task graphs use an axis for -------*- C++ -*-===//
//
// Task graphs that share a mesh may differ in what an axis is to them: one that replicates shards its batch
// over an axis that another one splits parameters over. The step is still one program: where a value goes
// from one task graph to the other, placement changes its distribution.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::epl {

/// What an axis is to the work of an op.
enum class AxisUse {
  open,  ///< all task graphs use it alike, or the op applies gradients: operands decide
  batch, ///< its task graph shards the batch over it, and another one does not
  split  ///< its task graph does not, and another one does
};

/// The axes over which each task graph of a mesh shards its batch: those of role `data` and those of the
/// other ones' splits.
class TaskGraphAxes {
public:
  explicit TaskGraphAxes(MeshOp mesh);

  /// Whether task graphs use an axis differently.
  bool isMixed(StringRef axis) const { return mixed.contains(axis); }
  bool isAnyMixed() const { return !mixed.empty(); }
  AxisUse getUse(Operation *op, StringRef axis) const;
  /// Whether the task graph of `op` shards its batch over `axis`.
  bool takesBatch(Operation *op, StringRef axis) const;

private:
  DenseMap<StringAttr, llvm::StringSet<>> splits; ///< the axes that each task graph is split over
  llvm::StringSet<> data;                         ///< the axes of that role
  llvm::StringSet<> mixed;                        ///< that some are split over and others are not
};

} // namespace mlir::epl
