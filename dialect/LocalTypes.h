//===- LocalTypes.h - Types of the local program, checked -------*- C++ -*-===//
//
// What the verifiers of tasks and of collectives share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"

namespace mlir::epl {

/// The local type of `type`, or null after an error on `op`; `value` is how that calls it.
RankedTensorType getCheckedLocalType(Operation *op, DistType type, const Twine &value);

/// The owner of a distributed value; null if all members have it.
OwnerAttr getOwner(Type dist);

/// For errors: `owner "data" = 1`, `no owner`.
std::string describeOwner(OwnerAttr owner);

/// Fails, with an error that `what` (operand, result) `index` of `op` has another owner than expected.
LogicalResult failOwner(Operation *op, StringRef what, size_t index, OwnerAttr found, OwnerAttr expected);

} // namespace mlir::epl
