//===- Clusters.h - Which ops share a kernel -----------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// The ops of a future cluster, in the order of their block. Clones and views belong to no group.
struct Group {
  KernelKind kind;
  SmallVector<Operation *> ops;
};

/// Groups the ops of a task body, each contraction alone. The groups have no cyclic dependencies.
SmallVector<Group> groupOps(Block &body);

} // namespace mlir::epl
