//===- Placement.h - Where pending sums are completed -----------*- C++ -*-===//
//
// A partial value must be completed somewhere between its birth and the uses that need it complete. Where is
// a problem on a graph, kept apart from the IR: its solution is a minimum cut.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/BitVector.h"

#include <cstdint>

namespace mlir::epl {

/// The partial values of one axis. Every value is born partial or is an output of a flow that comes later
/// than those of its inputs.
struct PlacementProblem {
  struct PartialValue {
    int64_t bytes;     ///< what completing it moves
    int64_t crossings; ///< how often its sum went over from one work to another on its way here
    bool born;         ///< its op makes it partial, whatever becomes of other values
    bool illegal;      ///< some use needs it complete
  };
  /// An op that partial values pass. It runs on parts only: either all its inputs stay partial and so do its
  /// outputs, or all are complete.
  struct Flow {
    SmallVector<unsigned> inputs, outputs; ///< each value once
    int64_t bytes = 0;                     ///< what it reads and writes more if they are partial
  };
  SmallVector<PartialValue> values;
  SmallVector<Flow> flows; ///< in program order
  int64_t bytesOfASum = 0; ///< what a sum costs beside what it moves, in bytes (`getBytesOfASum`)
};

/// The values to complete right where they are made, at the least cost: bytes, and what a sum costs besides.
/// At equal cost a sum does not leave the work that makes it: linear ops of that work join its kernel, those
/// of a later one the kernels that read the sum there, and the sum begins earlier. What is left of choices,
/// pending sums travel as far as they can.
llvm::BitVector placeSums(const PlacementProblem &problem);

/// Which values are made partial if those in `completed` are completed right after they are made.
llvm::BitVector getPending(const PlacementProblem &problem, const llvm::BitVector &completed);

} // namespace mlir::epl
