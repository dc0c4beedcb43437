//===- LoopSums.h - Sums over micro-batches ---------------------*- C++ -*-===//
//
// A reduction over samples is carried from one iteration to the next, from its neutral element on. What is
// narrower than f32 is carried in f32 and rounded once, behind the loop.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/microbatch/IterationLocalizer.h"

namespace mlir::epl {

/// The addends of all iterations so far, that of this one, for the value `addend` of the step, among them.
/// `index` is that of the carried value.
Value carrySum(Value addend, ReductionKind kind, int64_t index, FlatSymbolRefAttr mesh,
               IterationLocalizer &localizer);

/// `sum`, which `maker` makes, with elements of the type that the step has there.
Value roundSum(Value sum, Type element, Operation *maker, FlatSymbolRefAttr mesh,
               IterationLocalizer &localizer);

} // namespace mlir::epl
