//===- Linearity.h - Which ops let a pending sum pass -----------*- C++ -*-===//
//
// A partial value is a sum whose operands the members of an axis still hold. An op may run on the parts, and
// its result be pending in turn, if it is linear in them. Whether it is follows from an abstract
// interpretation of its scalar body over four statuses. The set of linear ops is as small as training steps
// need: sums of partial values, products with complete ones, negation, widening, copies. Rounding (`truncf`)
// does not commute with a sum.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

namespace mlir::epl {

/// What is known about a value.
enum class Status {
  zero,    ///< 0 on every member, or NaN where the program divides 0 by 0
  normal,  ///< complete: every member holds the value itself
  partial, ///< pending a sum over the axis
  illegal  ///< made from partial values by an op that is not linear in them
};

/// The statuses of the results of `op` when its operands have `operands`; `getCaptured` answers for values
/// from outside that its regions use.
SmallVector<Status> evaluate(Operation *op, ArrayRef<Status> operands,
                             function_ref<Status(Value)> getCaptured);

} // namespace mlir::epl
