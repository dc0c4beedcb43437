//===- Sharding.h - Shardings against their mesh ----------------*- C++ -*-===//
//
// A sharding names its mesh by symbol. These functions look it up and answer what depends on axis sizes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// The mesh of a sharding, looked up from `from`; null if there is none.
MeshOp lookupMesh(Operation *from, FlatSymbolRefAttr mesh);

/// The mesh that a function is computed on: the one that `epl.mesh` of it names, else the only one of the
/// module; failure with an error if there is none.
FailureOr<MeshOp> getMesh(Operation *function);

/// The task graphs of a mesh, in order: those that are on it, and those of which nothing is said.
SmallVector<TaskGraphOp> getTaskGraphs(MeshOp mesh);

/// The sharding of a value of a global program: what its reshard says, or the attribute `epl.sharding` of its
/// op or argument; null if there is none.
ShardingAttr getSharding(Value value);

/// The product of the sizes of `axes`. They must exist.
int64_t getAxesSize(MeshOp mesh, ArrayRef<StringRef> axes);

/// The axes that complete a value on the way from pending in `from` to pending in `to`, in mesh order.
SmallVector<StringRef> getReducedAxes(MeshOp mesh, ShardingAttr from, ShardingAttr to);

/// The axes behind which some dimension is split otherwise in `to` than in `from`, in mesh order: all that
/// follow those that both lists begin with.
SmallVector<StringRef> getMovedAxes(MeshOp mesh, ShardingAttr from, ShardingAttr to);

/// The axes of a dimension of `sharding` behind those that it begins with in `other`, too.
SmallVector<StringRef> getOwnAxes(ShardingAttr sharding, ShardingAttr other, int64_t dim);

/// Checks a sharding against its mesh and a tensor of `type`: the mesh and the axes exist, the ranks agree
/// and the axes of every dimension divide it. `value` names the tensor in errors ("result 0", "argument 2
/// \"w\"").
LogicalResult verifySharding(Operation *op, ShardingAttr sharding, RankedTensorType type, const Twine &value);

/// The part of it that holds of a device's part, too: that there is the mesh, with the axes, and a sharding
/// of each of `rank` dimensions.
LogicalResult verifyOnMesh(Operation *op, ShardingAttr sharding, int64_t rank, const Twine &value);

/// The type of the tensor that one rank holds. The sharding must have been verified.
RankedTensorType getLocalType(MeshOp mesh, ShardingAttr sharding, RankedTensorType global);

/// The inverse: the type of the whole of which one rank holds `local`.
RankedTensorType getGlobalType(MeshOp mesh, ShardingAttr sharding, RankedTensorType local);

/// The local type of a distributed value, with the mesh looked up from `from`; null if there is no such mesh.
RankedTensorType getLocalType(Operation *from, DistType type);

} // namespace mlir::epl
