//===- SplitConstraints.h - How the user wants parameters split --*- C++ -*-===//
//
// `dims` of a scope that is split names parameters by patterns. A parameter is a state that the scope's
// forward work reads. Its name is a path: "params['h'][0]['wq']" has the steps "params", "h", "0" and "wq";
// dots and slashes within a key begin a new step, too. A pattern is a path in either way of writing, or one
// with slashes or dots, "h/0/wq", of which each part is a glob ("*", "?", "[qk]"; "*" goes on over several
// steps). It names the parameters in whose paths it is found, from the beginning of a step to the end of one:
// "wq" is enough.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// A user constraint on one parameter: the axis shards a dimension, or it stays whole.
struct SplitConstraint {
  DimConstraintAttr said;
  AxisState state;
};
using SplitConstraints = llvm::MapVector<BlockArgument, SplitConstraint>;

/// Fails, with an error, if a task graph names no parameter by a pattern, names what is no dimension of one,
/// or contradicts itself: whatever axes it is split over, if there is one at all.
LogicalResult verifySplitConstraints(func::FuncOp program, MeshOp mesh);

/// What the task graphs that are split over `axis` say of the arguments of `program`. Failure, with an
/// error, for a dimension that the axis does not divide, where two task graphs contradict each other, and for
/// parameters that are sharded by hand.
FailureOr<SplitConstraints> getSplitConstraints(func::FuncOp program, MeshOp mesh, AxisAttr axis);

} // namespace mlir::epl
