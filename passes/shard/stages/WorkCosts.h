//===- WorkCosts.h - What the blocks of a chain of work cost ----*- C++ -*-===//
//
// By the numbers of a machine, what is done and sent in a step. What counts as sent is what the passes behind
// will send: work that applies gradients is where these are, and rows of stacks are where they are read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/stages/RowBlocks.h"
#include "passes/shard/stages/StageCuts.h"

namespace mlir::epl {

class WorkCosts {
public:
  WorkCosts(func::FuncOp function, const WorkChain &work);

  /// What each block takes in a step on a device of `machine`, of which `replicas` share the batch.
  std::vector<double> getSeconds(MachineAttr machine, int64_t replicas) const;
  /// What blocks read of each other in a step of so many micro-batches, on one replica.
  std::vector<ChainValue> getValues(int64_t replicas, int64_t microBatches) const;

private:
  SmallVector<unsigned> getBlocks(Value value) const;
  bool hasGradient(Value value) const;
  ChainValue makeValue(Value value, ArrayRef<unsigned> blocks, int64_t replicas, int64_t microBatches) const;

  Block &body;
  const WorkChain &work;
  RowBlocks rows;
  bool isTrained; ///< whether there is backward work
};

} // namespace mlir::epl
