//===- WorkCosts.cpp - What the blocks of a chain of work cost ------------===//

#include "passes/shard/stages/WorkCosts.h"

#include "dialect/Bytes.h"
#include "dialect/Machine.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

WorkCosts::WorkCosts(func::FuncOp function, const WorkChain &work)
    : body(function.front()), work(work), rows(function, work),
      isTrained(llvm::any_of(work.getOps(), [&](Operation *op) { return work.isBackward(op); })) {}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// The bytes that an op writes to memory: layouts are views, and constants are there.
static int64_t getWrittenBytes(Operation *op) {
  int64_t bytes = 0;
  if (!isa<tensor::EmptyOp, tensor::SplatOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
           arith::ConstantOp>(op))
    for (Value result : op->getResults())
      bytes += getBytes(result);
  return bytes;
}

std::vector<double> WorkCosts::getSeconds(MachineAttr machine, int64_t replicas) const {
  std::vector<double> seconds(work.getNumBlocks(), 0);
  for (Operation *op : work.getOps()) {
    if (work.isApplied(op))
      continue;
    double time = double(getWrittenBytes(op)) / double(machine.getMemory().getBytesPerSecond());
    if (std::optional<int64_t> count = countMultiplyAdds(op))
      time += double(*count) / double(getMultiplyAddsPerSecond(machine, op->getOperand(0).getType()));
    time /= work.isOfSamples(op) ? double(replicas) : 1;
    if (const RowWork *own = rows.getWork(op))
      for (unsigned block : own->blocks)
        seconds[block] += time / double(own->rows);
    else
      seconds[work.getBlock(op)] += time;
  }
  return seconds;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The blocks that make or read a value, ascending. What is summed up over rows is made where these are.
SmallVector<unsigned> WorkCosts::getBlocks(Value value) const {
  SmallVector<unsigned> blocks = work.getKnownBlocks(value);
  if (const RowWork *own = rows.getWork(value.getDefiningOp()); own && !rows.hasRows(value))
    blocks.append(own->blocks);
  llvm::sort(blocks);
  blocks.erase(llvm::unique(blocks), blocks.end());
  return blocks;
}

bool WorkCosts::hasGradient(Value value) const {
  return isTrained && isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
         !work.isNumberOfStates(value.getDefiningOp());
}

ChainValue WorkCosts::makeValue(Value value, ArrayRef<unsigned> blocks, int64_t replicas,
                                int64_t microBatches) const {
  bool isOfSamples = work.isOfBatch(value);
  int64_t bytes = getBytes(value) / (isOfSamples ? replicas : 1);
  return {blocks.front(), std::vector<unsigned>(blocks.begin() + 1, blocks.end()), double(bytes),
          double(isOfSamples ? microBatches : 1), hasGradient(value)};
}

std::vector<ChainValue> WorkCosts::getValues(int64_t replicas, int64_t microBatches) const {
  std::vector<ChainValue> values;
  // Forward work without samples that none is made of, such as rates of learning, is done once, with what
  // applies gradients.
  DenseSet<Operation *> readers;
  auto isReader = [&](Operation *user) { return readers.contains(body.findAncestorOpInBlock(*user)); };
  for (Operation *op : llvm::reverse(work.getOps()))
    if (work.isForward(op) && (work.isOfSamples(op) || llvm::any_of(op->getUsers(), isReader)))
      readers.insert(op);
  auto add = [&](Value value) {
    SmallVector<unsigned> blocks = getBlocks(value);
    if (blocks.size() > 1 && !rows.isReadByRow(value) && llvm::any_of(value.getUsers(), isReader) &&
        isa<RankedTensorType>(value.getType()))
      values.push_back(makeValue(value, blocks, replicas, microBatches));
  };
  for (BlockArgument argument : body.getArguments())
    if (!isBatch(argument)) // batches are given to all
      add(argument);
  for (Operation *op : work.getOps())
    if (work.isForward(op) && !work.isMadeAnywhere(op))
      llvm::for_each(op->getResults(), add);
  return values;
}
