//===- Linearity.h - Which ops let a pending sum pass -----------*- C++ -*-===//
//
// A partial value is a sum whose operands the members of an axis still hold. An op may run on the parts, and
// its result be pending in turn, if it is linear in them. Whether it is follows from an abstract
// interpretation of its scalar body over four statuses. Linear are sums of partial values, products with
// complete ones, negation, widening, copies. What is not known to be linear is opaque: a sum is completed
// before it, which is right whatever the op does. Rounding (`truncf`) does not commute with a sum.
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
/// from outside that its regions use. What its model says, else `deriveStatuses`.
SmallVector<Status> evaluate(Operation *op, ArrayRef<Status> operands,
                             function_ref<Status(Value)> getCaptured);

/// Those of an op without a model: what its body computes, or it on scalars, element by element; else opaque.
SmallVector<Status> deriveStatuses(Operation *op, ArrayRef<Status> operands,
                                   function_ref<Status(Value)> getCaptured);

/// The status of a sum, and of what is made of pieces of both: zero is neutral, unlike ones do not mix.
///
///   join     | zero     normal   partial  illegal
///   ---------+-----------------------------------
///   zero     | zero     normal   partial  illegal
///   normal   | normal   normal   illegal  illegal
///   partial  | partial  illegal  partial  illegal
///   illegal  | illegal  illegal  illegal  illegal
Status join(Status a, Status b);
Status joinAll(ArrayRef<Status> statuses);

/// The status of the result of an op of which nothing is known: it is not linear in any operand.
Status evaluateOpaque(ArrayRef<Status> operands);

/// Linear in the numerator, in the denominator not.
Status evaluateQuotient(Status numerator, Status denominator);

} // namespace mlir::epl
