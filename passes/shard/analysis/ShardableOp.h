//===- ShardableOp.h - What an op means for sharding ------------*- C++ -*-===//
//
// Who adds an op writes a model of this interface (passes/shard/ops); who adds a question about ops adds a
// method with a default (ShardableOp.td). docs/reference/sharding.md lists which model answers what.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/Accesses.h"
#include "passes/shard/analysis/Linearity.h"
#include "passes/shard/analysis/Rules.h"

namespace mlir::epl {

class Localizer;
class SegmentExpander;

/// A range of a dimension that is a dimension elsewhere: of the result of a slice, or the operand of a
/// concatenation.
struct Cut {
  Value whole;
  int64_t dim;          ///< of the whole
  int64_t offset, size; ///< in elements of it; the offset may be dynamic
  int64_t stride = 1;   ///< between the elements that are taken
  Value part = {};      ///< null if nothing else is said of it than that it is one row
  int64_t partDim = -1; ///< the dimension of `part`; -1 if it has none, that is, dropped it
  bool joins = false;   ///< whether the whole is put together of such parts
};

/// A dimension `flat` of `coarse` that `fine` lays out as several, of which `group` has the positions.
struct FoldedDim {
  Value coarse;
  int64_t flat;
  Value fine;
  SmallVector<int64_t> group;
};

} // namespace mlir::epl

#include "passes/shard/analysis/ShardableOp.h.inc"
