//===- Placement.h - Where pending sums are completed -----------*- C++ -*-===//
//
// A partial value must be completed somewhere between its birth and the uses that need it complete. Where is
// a problem on a graph, kept apart from the IR so that strategies can be exchanged: a local search here; a
// minimum cut, weighted with bytes, fits the same interface.
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
  };
  SmallVector<PartialValue> values;
  SmallVector<Flow> flows; ///< in program order
};

/// The values to complete right where they are made, by strategy "late": pending sums travel as far as they
/// can, and a value is completed once for all its uses.
llvm::BitVector placeLate(const PlacementProblem &problem);

/// The values to complete right where they are made: those of "late", or earlier ones where that moves fewer
/// bytes or takes fewer sums, and not more of either. At equal cost a sum does not leave the work that makes
/// it: linear ops of that work join its kernel, those of a later one the kernels that read the sum there, and
/// the sum begins earlier.
llvm::BitVector placeSums(const PlacementProblem &problem);

/// Which values are made partial if those in `completed` are completed right after they are made.
llvm::BitVector getPending(const PlacementProblem &problem, const llvm::BitVector &completed);

} // namespace mlir::epl
