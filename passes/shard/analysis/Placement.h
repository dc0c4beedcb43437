//===- Placement.h - Where pending sums are completed -----------*- C++ -*-===//
//
// A product over a sharded dimension gives every member an addend: its result is pending (partial). Before an
// op that needs the whole value the addends must be summed. Linear ops may run on addends, so there is a
// choice of where:
//
//    product ── %a ──> transpose ── %b ──> scale ── %c ──> sqrt
//    pending           linear              linear          needs the whole value
//
// %a, %b or %c can be completed, and one of them must be. This is a minimum cut in the graph of partial
// values between the ops that make them and the uses that need them whole; the capacity of a value is what
// completing it costs. The problem is kept apart from the IR, so that it can be tested by itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/BitVector.h"

#include <cstdint>

namespace mlir::epl {

/// The partial values of one axis. Every value is born partial, or is an output of a flow that stands behind
/// the flows which make its inputs.
struct PlacementProblem {
  struct PartialValue {
    int64_t bytes;     ///< that completing it moves
    int64_t crossings; ///< how many works its sum has passed since it was born: 0 in the work that makes it
    bool born;         ///< its op makes it partial even if all operands are complete: a product, a reduction
    bool illegal;      ///< some use needs it complete
  };
  /// A linear op that partial values pass, such as the transpose above. Its inputs are tied: if all of them
  /// stay partial, the op runs on addends and its outputs are partial; else all are complete, and so are the
  /// outputs.
  ///
  ///     inputs      | the op runs on | outputs
  ///     ------------+----------------+---------
  ///     all partial | addends        | partial
  ///     all complete| whole values   | complete
  ///     some of each|        not allowed: an addition would add the complete one once for each member
  struct Flow {
    SmallVector<unsigned> inputs, outputs; ///< each value once
    int64_t bytes = 0;                     ///< what it reads and writes more if they are partial
  };
  SmallVector<PartialValue> values;
  SmallVector<Flow> flows; ///< in program order
  int64_t bytesOfASum = 0; ///< what a sum costs beside what it moves, in bytes (`getBytesOfASum`)
};

/// The values to complete right behind the ops that make them, so that the cost is least: bytes moved, and
/// `bytesOfASum` for each value that is completed. Between placements of equal cost these rules decide, in
/// this order:
///   1. a sum is completed within the work that makes it, since the linear ops of that work can then join the
///      kernel that makes the addends, and the sum can begin earlier;
///   2. within that, as late as possible.
llvm::BitVector placeSums(const PlacementProblem &problem);

/// The values that are made partial if those in `completed` are completed right behind the ops that make
/// them: those that are born so, and outputs of flows whose inputs all stay partial.
llvm::BitVector getPending(const PlacementProblem &problem, const llvm::BitVector &completed);

} // namespace mlir::epl
