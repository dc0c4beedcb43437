//===- Arrivals.h - The layout of what an earlier step made -----*- C++ -*-===//
//
// A state that another step has made is on the devices already, sharded on a mesh of that step. The front end
// says so by `epl.arrives`. It is a preference: where this step can have that mesh it takes it, so that its
// state is not distributed anew in every call, and `epl-seed-layouts` seeds the shardings.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::epl {

/// The mesh on which arguments of the step arrive; null if none does.
MeshOp getArrivalMesh(ModuleOp module);

/// Whether task graphs that share `devices` can be on a mesh: it has as many, an axis for the batch, and
/// those over which they are split.
bool canShare(MeshOp mesh, ArrayRef<TaskGraphOp> taskgraphs, int64_t devices);

/// Forgets how arguments arrive, and the mesh with it.
void dropArrivals(ModuleOp module);

} // namespace mlir::epl
