//===- TaskValues.h - Values that tasks hand to one another -----*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include <optional>

namespace mlir::epl {

/// What makes a value of a task, in this task or another one: the elements are the same, in the same order.
Value getOrigin(Value value);

/// The operands of launches that read a value that one has made, in its task or in others; nothing if
/// something else does, like a collective, a loop, or the caller.
std::optional<SmallVector<OpOperand *>> getReaders(Value value);

/// A value of the task `to` that has this origin, or null.
Value findInside(TaskOp to, Value origin);

/// Hands a value that one task makes to another one, which has none of that origin: as the parts of the
/// ranks, which differ along the axes of `like`, one behind the other. Null if `like` is pending, or an
/// owner's.
Value passTo(TaskOp to, Value value, DistType like);

/// Moves ops of one block, which are in order there, behind `place`, or to its begin if that is null, with
/// the views that they read. Needs that `place` is behind all else that they read, and before who reads them.
void moveBehind(Operation *place, ArrayRef<Operation *> ops);

} // namespace mlir::epl
