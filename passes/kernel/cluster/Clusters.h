//===- Clusters.h - Which ops share a kernel -----------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// The ops of a future cluster, in the order of their block. Clones and views belong to no group.
struct Group {
  KernelKind kind;
  SmallVector<Operation *> ops;
};

/// How large a group may become.
struct GroupLimits {
  int64_t maxOps;      ///< scalar ops of all bodies
  int64_t maxOperands; ///< distinct tensors that it reads or that others read from it
};

/// Groups the ops of a task body: each contraction alone, of the others as many together as one loop nest can
/// compute. In a group of more than one op, with extents of 1 left out,
/// - every op iterates over the group's domain or over its rows (its first dimensions), in that order;
/// - reductions are of the dimensions behind the rows, or of the rows (and are read by no one inside);
/// - a value is read inside at the iteration that makes it, or in each element of its row;
/// - what comes from outside is read by maps that choose dimensions; if the innermost loop walks the tensor
///   at all, it walks its innermost dimension.
/// The groups have no cyclic dependencies.
SmallVector<Group> groupOps(Block &body, const GroupLimits &limits);

/// The groups that the results of the block need, each behind those that it reads, directly or by way of ops
/// of no group; of several orders the one in which results, and what is read for them, are first needed.
/// Fails if groups need one another.
FailureOr<SmallVector<const Group *>> orderGroups(Block &body, ArrayRef<Group> groups);

} // namespace mlir::epl
