//===- PlaceOnAxis.h - A step on an axis that only a pass has ---*- C++ -*-===//
//
// Micro-batches and the rows of stacked parameters are members of an axis, too, though no mesh of devices has
// it. A pass shards a step over such an axis by the propagation and placement that all axes have, writes the
// step anew by what each value is there, and forgets the axis.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

namespace mlir::epl {

/// Shards the function of `rules` over the one axis of its mesh, from the shardings of its arguments on.
/// Those in `open` may become sharded, as the results that update them are. Each change of a value's state is
/// an `epl.reshard` then, from parts or addends to what is whole or from that to these.
void placeOnAxis(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open);

/// Takes what that has left at ops, and ops that nobody reads. A value that a loop carries has its end.
void forgetAxis(func::FuncOp function);

} // namespace mlir::epl
