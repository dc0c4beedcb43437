//===- Enlarging.h - What is padded or repeated -----------------*- C++ -*-===//
//
// A padded or repeated tensor has more bytes than information: where it is needed in another distribution,
// the smaller operand is moved, and the op done again there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AssumedConstraints.h"

namespace mlir::epl {

/// The operand of which `op` makes a larger tensor by zeros round it or by repeating its elements; null for
/// other ops. To have the result elsewhere it is cheaper to move the operand and do the op there again.
Value getEnlarged(Operation *op);

/// Whether a tensor is made of constants, so that any part of it can be made anywhere; other values are.
bool isMadeOfConstants(Value value);

/// The bytes that move where `value` is needed in another distribution: of what ops enlarge to it. A
/// constraint is kept where it stands: nothing before it is moved in its place.
int64_t getMovedBytes(Value value, const AssumedConstraints &assumed = {});

/// Those of what `use` reads.
int64_t getMovedBytes(OpOperand &use, const AssumedConstraints &assumed);

} // namespace mlir::epl
