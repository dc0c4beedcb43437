//===- WriteConstraints.h - Seeds on values in the program ------*- C++ -*-===//
//
// What passes share that look for constraints axis by axis, and write those that pay as `epl.constrain`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

namespace mlir::epl {

/// A constraint right behind `value`: sharded or replicated on `axis`, open on other axes. Nothing reads it
/// yet, and it has no work.
ConstrainOp createConstrain(Value value, AxisState state, AxisAttr axis);

/// Calls `seed`, which may write constraints, with each axis of several devices, in mesh order. Arguments
/// have their shardings. Meanwhile ops have those on the axes before it, on which it depends what an axis
/// divides; afterwards they have none.
void forEachAxis(func::FuncOp function, MeshOp mesh, function_ref<void(AxisAttr)> seed);

} // namespace mlir::epl
