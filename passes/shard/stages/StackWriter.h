//===- StackWriter.h - A step on the rows of stacks -------------*- C++ -*-===//
#pragma once

#include "passes/shard/stages/StackRows.h"

namespace mlir::epl {

/// Writes, before `function`, which is sharded over `axis` of `mesh` (PlaceOnAxis.h), one of the same name
/// whose ops are on the rows of each member of the axis. A state that the axis shards along dimension 0 is an
/// argument for each member. `stacks` says which task graph a member is with.
func::FuncOp writeStacks(func::FuncOp function, MeshOp mesh, AxisAttr axis, const Stacks &stacks);

} // namespace mlir::epl
