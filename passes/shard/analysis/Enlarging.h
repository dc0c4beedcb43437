//===- Enlarging.h - What is padded or repeated -----------------*- C++ -*-===//
//
// Padding and broadcasting make a tensor larger without adding information. If such a tensor is needed with
// another sharding, it is cheaper to move the operand that it was made of and to do the op again behind the
// move:
//
//   instead of     b: 64 ── broadcast ──> 1024 x 64 ── all_gather ──> reader        moves 1024 x 64 elements
//   this           b: 64 ── all_gather ──> 64 ── broadcast ──> 1024 x 64 ──> reader moves 64
//
// Placement rewrites the program so (ReshardBuilder); votes, cuts and searches count the bytes of the smaller
// operand.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AssumedConstraints.h"

namespace mlir::epl {

/// The operand that `op` makes a larger tensor of, by putting zeros round it or by repeating its elements;
/// null if `op` does not do that.
Value getEnlarged(Operation *op);

/// Whether a tensor is computed from constants only, so that each member can make any part of it by itself.
/// True for values that are no tensors.
bool isMadeOfConstants(Value value);

/// The bytes that move if `value` is needed with another sharding: those of the tensor that it was enlarged
/// from, through any number of such ops; its own if it was not enlarged. What a constraint (one of `assumed`,
/// too) is on is not moved in the place of its result.
int64_t getMovedBytes(Value value, const AssumedConstraints &assumed = {});

/// Those of what `use` reads.
int64_t getMovedBytes(OpOperand &use, const AssumedConstraints &assumed);

} // namespace mlir::epl
