//===- IterationLocalizer.h - The ops of one iteration ----------*- C++ -*-===//
#pragma once

#include "passes/shard/localize/Localize.h"

namespace mlir::epl {

/// `type` with dimension `dim` as (parts, extent of one).
RankedTensorType splitDim(RankedTensorType type, int64_t dim, int64_t parts);

/// Builds ops around what the model of an op makes, all of one work.
class IterationLocalizer : public Localizer {
public:
  IterationLocalizer(Block *body, LoopAttr loop) : Localizer(body), loop(loop) {}

  /// The iteration's part of a whole tensor.
  Value createSlice(Location loc, Value tensor, MeshOp, ShardingAttr, ShardingAttr to) override;
  Value createSplit(Value whole, int64_t dim, Location loc);
  Value createJoin(Value split, int64_t dim, Location loc);
  /// The iteration's part of a tensor of which dimension `dim` counts parts.
  Value createPart(Value split, int64_t dim, Location loc);
  /// The values of all iterations, of which dimension `dim` counts them.
  Value createStack(Value part, int64_t dim, Location loc);
  template <typename OpT> Value stamped(OpT op) {
    if (work)
      op->setAttr(EplDialect::kWorkAttr, work);
    return op->getResult(0);
  }

  LoopAttr loop;
  Attribute work; ///< of what is built

private:
  Value moveDim(Value value, int64_t from, int64_t to, Location loc);
};

} // namespace mlir::epl
