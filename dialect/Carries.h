//===- Carries.h - Carried values that are replaced -------------*- C++ -*-===//
//
// A value that goes from one iteration to the next is a new one in each; where the old one has done its work,
// the new one may take its place in memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// What reshapes make of a value, as long as each is its only reader.
Value followViews(Value value);

/// The carried value that `before` is, if the task that reads it makes `after` of it, which is carried on,
/// and nothing else reads either of them: then `after` may be written where `before` lies, in every iteration
/// but the first, which begins with what may have other readers. Null otherwise. Reshapes are looked through.
LoopCarryOp getReplacedCarry(Value before, Value after);

} // namespace mlir::epl
