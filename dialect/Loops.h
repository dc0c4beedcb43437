//===- Loops.h - Which ops are done in every iteration ----------*- C++ -*-===//
//
// Loops are no regions (dialect/EplLoopOps.td): what depends on a value of an iteration is part of the loop.
// This analysis answers what follows from that. Loops nest one deep: those of the step in those over
// micro-batches. What depends on values of both is done in each iteration of the inner one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// The loop that an op enters or leaves, null for all other ops.
LoopAttr getEdgeLoop(Operation *op);

/// Whether a loop's iterations are micro-batches; false for null.
inline bool isOfMicroBatches(LoopAttr loop) { return loop && loop.getMicroBatches(); }

/// The loop over micro-batches that a loop is or is in; null if there is none.
inline LoopAttr getMicroBatchLoop(LoopAttr loop) {
  LoopAttr outer = loop ? loop.getOuter() : LoopAttr();
  return outer ? outer : isOfMicroBatches(loop) ? loop : LoopAttr();
}

/// Whether what is done in the iterations of `loop` is done in those of `outer`, too: it is that loop, or is
/// in it. All is in null, the step.
inline bool isWithin(LoopAttr loop, LoopAttr outer) {
  return !outer || loop == outer || (loop && loop.getOuter() == outer);
}

/// Whether an op's results are there after the loop only: `epl.loop_last`, `epl.loop_stack`.
bool leavesLoop(Operation *op);

/// The least number that no loop of the block has, nor a larger one.
int64_t getFreeLoopId(Block &body);

/// The loops of a block, as it was when this was made.
class Loops {
public:
  explicit Loops(Block &body);

  /// The loop in whose iterations `op`, of the block, is done, the inner one of two; null if it is done once.
  /// Ops that leave a loop are a part of it.
  LoopAttr getLoop(Operation *op) const { return loops.lookup(op); }
  /// The loop that has a `value` of its own in every iteration; null if there is one value.
  LoopAttr getLoop(Value value) const;
  /// How often a value is made.
  int64_t getTripCount(Value value) const {
    int64_t count = 1;
    for (LoopAttr loop = getLoop(value); loop; loop = loop.getOuter())
      count *= loop.getTripCount();
    return count;
  }

  /// The other end of a carried value. No iteration need read what it ends as: then nothing is carried.
  LoopCarryOp getCarry(LoopLastOp last) const { return carries.lookup({last.getLoop(), last.getIndex()}); }
  LoopLastOp getLast(LoopCarryOp carry) const { return getLast(carry.getLoop(), carry.getIndex()); }
  LoopLastOp getLast(LoopAttr loop, int64_t index) const { return lasts.lookup({loop, index}); }

private:
  LoopAttr computeLoop(Operation &op) const;

  DenseMap<Operation *, LoopAttr> loops;
  DenseMap<std::pair<LoopAttr, int64_t>, LoopCarryOp> carries;
  DenseMap<std::pair<LoopAttr, int64_t>, LoopLastOp> lasts;
};

/// Fails, with an error at the first op that breaks a rule of loops that no op can check alone: carried
/// values have two ends, no loop reads what iterations of another one make, but for the one that it is in,
/// nothing of a loop stands behind what leaves it, and what leaves it is not made of what has left it.
LogicalResult verifyLoops(Block &body);

/// The part of it (C2) that holds of local programs, too: each carried value is made anew by an iteration.
LogicalResult verifyCarries(Block &body, const Loops &loops);

} // namespace mlir::epl
