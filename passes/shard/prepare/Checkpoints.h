//===- Checkpoints.h - Which values are kept where the rest is computed again -*- C++ -*-===//
//
// A chain of forward work is cut into parts. What is made before a cut and read behind it is kept; of one
// part after the other, the last one first, all else is computed again for its gradient:
//
//   forward     | part 0 | part 1 | part 2 |            kept: what crosses the two cuts
//   backward                               | part 2 | recompute 1 | part 1 | recompute 0 | part 0 |
//
// So the most that is there at a time is what crosses the cuts, and all that the gradient of one part reads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/prepare/ForwardWork.h"

namespace mlir::epl {

/// The values that are kept, each with the number of the part that it ends.
using Checkpoints = llvm::MapVector<Value, unsigned>;

/// Chooses the cuts of a task graph's forward work for which the kept values and the largest part are
/// smallest, together: at the narrowest places, into parts of about equal size, about as many as the square
/// root of what can be cut. None if no cut makes it smaller.
Checkpoints chooseCheckpoints(const ForwardWork &work);

} // namespace mlir::epl
