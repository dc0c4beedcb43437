//===- TaskGraphAxes.h - What task graphs use an axis for -------*- C++ -*-===//
//
// Task graphs that share a mesh may use one axis for different things. With a body in `replicate` and a head
// in `split(2)` on axes "data" = 2 and "model" = 2:
//
//                | data              | model
//   -------------+-------------------+-----------------------------
//   body         | samples           | samples, too: 4 parts in all
//   head         | samples           | columns of the parameters
//   apply        | as the operands   | as the operands
//
// "model" is mixed here. The step is still one program: where a value goes from the body to the head,
// placement changes its sharding.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::epl {

/// What an axis is to the work of an op.
enum class AxisUse {
  open,  ///< the op's operands decide: the axis is not mixed, or the op applies gradients
  batch, ///< a mixed axis over which the op's task graph shards its batch
  split  ///< a mixed axis over which the op's task graph splits parameters
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

/// The meshes on which the task graphs of a module work.
class WorkMeshes {
public:
  explicit WorkMeshes(ModuleOp module);

  /// The mesh of forward and backward work; null of other ops: gradients are applied where what that reads
  /// is.
  StringAttr get(Operation *op) const;
  /// Whether there is more than one.
  bool areSeveral() const { return several; }

private:
  DenseMap<StringAttr, StringAttr> meshes; ///< of task graphs
  bool several = false;
};

} // namespace mlir::epl
