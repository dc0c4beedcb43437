//===- WorkChain.cpp - The work of a task graph as a chain ----------------===//

#include "passes/shard/stages/WorkChain.h"

#include "dialect/Bytes.h"
#include "dialect/Machine.h"
#include "passes/shard/analysis/AppliedWork.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Elementwise.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/analysis/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

WorkChain::WorkChain(func::FuncOp function, TaskGraphOp taskgraph)
    : function(function), body(function.front()) {
  DenseSet<Operation *> applied = findAppliedWork(function);
  for (Operation &op : body.without_terminator())
    if (auto work = op.getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
        work && work.getTaskgraph().getAttr() == taskgraph.getSymNameAttr()) {
      ops.push_back(&op);
      kinds[&op] = applied.contains(&op) ? WorkKind::apply : work.getKind();
    }
  findSamples();
  findChain();
  if (blocks.empty())
    return;
  cutBlocks();
  placeUnchained();
  placeBackward();
  placeApply();
  placeByReaders();
}

bool WorkChain::isForward(Operation *op) const {
  auto kind = kinds.find(op);
  return kind != kinds.end() && kind->second == WorkKind::forward;
}

bool WorkChain::isBackward(Operation *op) const {
  auto kind = kinds.find(op);
  return kind != kinds.end() && kind->second != WorkKind::forward && kind->second != WorkKind::apply;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool WorkChain::isOfBatch(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? isBatch(argument) : samples.contains(value.getDefiningOp());
}

void WorkChain::findSamples() {
  for (Operation &op : body.without_terminator()) {
    SetVector<Value> used = getUsedValues(&op);
    if (llvm::any_of(used, [&](Value value) { return isOfBatch(value); }))
      samples.insert(&op);
    auto isMadeAnywhere = [&](Value value) {
      return value.getDefiningOp() ? ofBatches.contains(value.getDefiningOp()) : isOfBatch(value);
    };
    if ((isElementwise(&op) || isa<tensor::ExtractSliceOp>(op)) && llvm::all_of(used, isMadeAnywhere))
      ofBatches.insert(&op);
  }
}

/// Samples that other task graphs hand over have been in a product.
void WorkChain::findChain() {
  DenseSet<Operation *> found;
  for (Operation *op : ops) {
    if (!isForward(op) || !samples.contains(op))
      continue;
    bool isProduct = countMultiplyAdds(op).has_value();
    auto isChained = [&](Value value) {
      Operation *producer = value.getDefiningOp();
      return producer && (found.contains(producer) || (samples.contains(producer) && !isOwn(producer)));
    };
    if (!isProduct && llvm::none_of(getUsedValues(op), isChained))
      continue;
    found.insert(op);
    chain.push_back(op);
    if (isProduct)
      blocks.push_back(op);
  }
}

/// For each place before an op of the chain, the bytes of what is made before it and read behind.
SmallVector<int64_t> WorkChain::getCrossingBytes() const {
  DenseMap<Operation *, size_t> positions;
  for (auto [position, op] : llvm::enumerate(chain))
    positions[op] = position;
  SmallVector<int64_t> bytes(chain.size() + 1, 0);
  for (auto [position, op] : llvm::enumerate(chain))
    for (Value result : op->getResults()) {
      size_t last = position;
      for (Operation *user : result.getUsers())
        if (auto reader = positions.find(body.findAncestorOpInBlock(*user)); reader != positions.end())
          last = std::max(last, reader->second);
      bytes[position + 1] += getBytes(result);
      bytes[last + 1] -= getBytes(result);
    }
  for (size_t position = 1; position < bytes.size(); ++position)
    bytes[position] += bytes[position - 1];
  return bytes;
}

/// A block begins at the last of the narrowest places between two products: what makes another form of a
/// layer's result, such as its norm, is of the layer that reads it.
void WorkChain::cutBlocks() {
  SmallVector<int64_t> bytes = getCrossingBytes();
  unsigned block = 0;
  size_t narrowest = 0, next = 0;
  auto placeUpTo = [&](size_t end) {
    for (; next < end; ++next)
      places[chain[next]] = block;
  };
  for (auto [position, op] : llvm::enumerate(chain)) {
    if (position > 0 && (narrowest == 0 || bytes[position] <= bytes[narrowest]))
      narrowest = position;
    if (!llvm::is_contained(blocks, op))
      continue;
    if (op != blocks.front()) {
      placeUpTo(narrowest);
      ++block;
    }
    narrowest = 0;
  }
  placeUpTo(chain.size());
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The first block that has a reader of the op.
std::optional<unsigned> WorkChain::getFirstReader(Operation *op, bool forwardOnly) const {
  std::optional<unsigned> first;
  for (Operation *user : op->getUsers()) {
    Operation *reader = body.findAncestorOpInBlock(*user);
    auto place = places.find(reader);
    if (place != places.end() && (!forwardOnly || isForward(reader)))
      first = std::min(first.value_or(place->second), place->second);
  }
  return first;
}

/// Forward work before the first products.
void WorkChain::placeUnchained() {
  for (Operation *op : llvm::reverse(ops))
    if (isForward(op) && !places.contains(op))
      if (std::optional<unsigned> block = getFirstReader(op, /*forwardOnly=*/true))
        places[op] = *block;
}

/// The blocks whose forward work makes or reads a value, ascending. None of what backward work makes, nor of
/// what constants make.
SmallVector<unsigned> WorkChain::getKnownBlocks(Value value) const {
  Operation *producer = value.getDefiningOp();
  if (ofBatches.contains(producer) && !samples.contains(producer))
    return {};
  if (auto leaf = leaves.find(producer); leaf != leaves.end())
    return leaf->second;
  SmallVector<unsigned> blocks;
  if (producer && isOwn(producer) && !isForward(producer)) {
    if (repeated.contains(producer))
      blocks.push_back(places.lookup(producer));
    return blocks;
  }
  if (auto place = places.find(producer); place != places.end())
    blocks.push_back(place->second);
  for (Operation *user : value.getUsers()) {
    Operation *reader = body.findAncestorOpInBlock(*user);
    if (auto place = places.find(reader); place != places.end() && isForward(reader))
      blocks.push_back(place->second);
  }
  llvm::sort(blocks);
  blocks.erase(llvm::unique(blocks), blocks.end());
  return blocks;
}

Value WorkChain::getForward(Value value) const {
  auto known = repeated.find(value.getDefiningOp());
  return known == repeated.end() ? value : known->second->getResult(cast<OpResult>(value).getResultNumber());
}

/// The forward op that recomputed work repeats: of the same kind, on the same values or on those that repeat
/// them. Null if there is none.
Operation *WorkChain::getRepeated(Operation *op) const {
  auto repeats = [&](Value mine, Value other) {
    return getForward(mine) == other ? success() : failure(isOfBatch(mine) || isOfBatch(other));
  };
  for (Value operand : op->getOperands()) {
    if (!isOfBatch(operand))
      continue;
    for (Operation *user : getForward(operand).getUsers())
      if (Operation *other = body.findAncestorOpInBlock(*user);
          isForward(other) && places.contains(other) &&
          OperationEquivalence::isEquivalentTo(op, other, repeats, /*markEquivalent=*/nullptr,
                                               OperationEquivalence::IgnoreLocations |
                                                   OperationEquivalence::IgnoreDiscardableAttrs))
        return other;
  }
  return nullptr;
}

/// Gradients go from later blocks to earlier ones, so that an op is in no later block than those that it
/// reads. Of these it is in the last one that has what else it reads.
unsigned WorkChain::getBackwardBlock(Operation *op, SmallVector<unsigned> &known) const {
  unsigned last = getNumBlocks() - 1;
  SetVector<Value> used = getUsedValues(op);
  for (Value value : used)
    if (Operation *producer = value.getDefiningOp(); producer && isBackward(producer))
      if (auto place = places.find(producer); place != places.end() && !repeated.contains(producer))
        last = std::min(last, place->second);
  unsigned block = last;
  for (Value value : used) {
    SmallVector<unsigned> blocks = getKnownBlocks(value);
    known.append(blocks);
    if (blocks.empty())
      continue;
    auto *behind = llvm::upper_bound(blocks, last);
    block = std::min(block, behind == blocks.begin() ? last : *std::prev(behind));
  }
  return block;
}

void WorkChain::placeBackward() {
  placeBackward(DenseMap<Operation *, unsigned>());
  if (DenseMap<Operation *, unsigned> sums = findSums(); !sums.empty())
    placeBackward(sums);
}

/// The gradient of what is added to samples, such as a bias, is a sum of gradients and of nothing else: it is
/// in the block that these go to, where that was added. Gives those that are so in an earlier block than the
/// one that makes what they add up.
DenseMap<Operation *, unsigned> WorkChain::findSums() const {
  auto isSum = [&](Operation *op) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    return structured && structured.getNumReductionLoops() > 0 && isBackward(op) && samples.contains(op) &&
           llvm::all_of(getUsedValues(op), [&](Value value) { return getKnownBlocks(value).empty(); });
  };
  DenseMap<Operation *, unsigned> sums;
  for (Operation *op : ops) {
    if (!isSum(op))
      continue;
    unsigned block = places.lookup(op);
    for (Value value : getUsedValues(op))
      for (Operation *user : value.getUsers())
        if (Operation *reader = body.findAncestorOpInBlock(*user);
            samples.contains(value.getDefiningOp()) && isBackward(reader) && !isSum(reader))
          block = std::min(block, places.lookup(reader));
    if (block < places.lookup(op))
      sums[op] = block;
  }
  return sums;
}

/// `sums`: what is in another block than it would be.
void WorkChain::placeBackward(const DenseMap<Operation *, unsigned> &sums) {
  for (Operation *op : ops) {
    if (!isBackward(op))
      continue;
    SmallVector<unsigned> known;
    auto sum = sums.find(op);
    unsigned block = sum != sums.end() ? sum->second : getBackwardBlock(op, known);
    if (!samples.contains(op)) { // a parameter in another form, zeros: of the readers of what it is made of
      llvm::sort(known);
      known.erase(llvm::unique(known), known.end());
      leaves[op] = known;
      continue;
    }
    Operation *other = kinds.lookup(op) == WorkKind::recompute ? getRepeated(op) : nullptr;
    if (other)
      repeated[op] = other;
    places[op] = other ? places.lookup(other) : block;
  }
}

/// Of what is read, the last that is made of gradients.
void WorkChain::placeApply() {
  for (Operation *op : ops) {
    if (kinds.lookup(op) != WorkKind::apply)
      continue;
    Operation *last = nullptr;
    for (Value value : getUsedValues(op))
      if (Operation *producer = value.getDefiningOp(); producer && places.contains(producer) &&
                                                       !isForward(producer) &&
                                                       (!last || last->isBeforeInBlock(producer)))
        last = producer;
    if (last)
      places[op] = places.lookup(last);
  }
}

void WorkChain::placeByReaders() {
  for (Operation *op : llvm::reverse(ops))
    if (!places.contains(op))
      places[op] = getFirstReader(op, /*forwardOnly=*/false).value_or(0);
}

//===----------------------------------------------------------------------===//
// Costs
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

std::vector<double> WorkChain::getSeconds(MachineAttr machine, int64_t replicas) const {
  std::vector<double> seconds(getNumBlocks(), 0);
  for (Operation *op : ops) {
    if (kinds.lookup(op) == WorkKind::apply || joinsRows(op))
      continue;
    double time = double(getWrittenBytes(op)) / double(machine.getMemory().getBytesPerSecond());
    if (std::optional<int64_t> count = countMultiplyAdds(op))
      time += double(*count) / double(getMultiplyAddsPerSecond(machine, op->getOperand(0).getType()));
    seconds[places.lookup(op)] += samples.contains(op) ? time / double(replicas) : time;
  }
  return seconds;
}

/// Whether forward work reads rows by themselves: these are where they are read (StackRows.h).
bool WorkChain::isStack(Value value) const {
  auto isOfRows = [&](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return !isForward(user) || (slice && slice.getStaticSize(0) < slice.getSourceType().getDimSize(0));
  };
  return !isOfBatch(value) && llvm::all_of(value.getUsers(), isOfRows);
}

/// Whether rows come together that several blocks make: each stays where it is made.
bool WorkChain::joinsRows(Operation *op) const {
  auto concatenate = dyn_cast<ConcatenateOp>(op);
  auto getPlace = [&](Value value) { return places.lookup(value.getDefiningOp()); };
  return concatenate && concatenate.getDim() == 0 &&
         !llvm::all_equal(llvm::map_range(concatenate.getOperands(), getPlace));
}

ChainValue WorkChain::makeValue(Value value, ArrayRef<unsigned> known, int64_t replicas,
                                int64_t microBatches) const {
  bool isOfSamples = isOfBatch(value);
  bool isTrained = llvm::any_of(ops, [&](Operation *op) { return isBackward(op); });
  int64_t bytes = getBytes(value) / (isOfSamples ? replicas : 1);
  return {known.front(), std::vector<unsigned>(known.begin() + 1, known.end()), double(bytes),
          double(isOfSamples ? microBatches : 1),
          isTrained && isa<FloatType>(getElementTypeOrSelf(value.getType()))};
}

std::vector<ChainValue> WorkChain::getValues(int64_t replicas, int64_t microBatches) const {
  std::vector<ChainValue> values;
  // Forward work without samples that none is made of, such as rates of learning, is done once, with what
  // applies gradients.
  DenseSet<Operation *> readers;
  auto isReader = [&](Operation *user) { return readers.contains(body.findAncestorOpInBlock(*user)); };
  for (Operation *op : llvm::reverse(ops))
    if (isForward(op) && (samples.contains(op) || llvm::any_of(op->getUsers(), isReader)))
      readers.insert(op);
  auto add = [&](Value value) {
    SmallVector<unsigned> known = getKnownBlocks(value);
    if (known.size() > 1 && !isStack(value) && llvm::any_of(value.getUsers(), isReader) &&
        isa<RankedTensorType>(value.getType()))
      values.push_back(makeValue(value, known, replicas, microBatches));
  };
  for (BlockArgument argument : body.getArguments())
    if (!isBatch(argument)) // batches are given to all
      add(argument);
  for (Operation *op : ops)
    if (isForward(op) && !ofBatches.contains(op))
      llvm::for_each(op->getResults(), add);
  return values;
}
