//===- WorkChain.cpp - The work of a task graph as a chain ----------------===//

#include "passes/shard/stages/WorkChain.h"

#include "dialect/Bytes.h"
#include "passes/shard/analysis/AppliedWork.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Elementwise.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/analysis/StepCost.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::epl;

WorkChain::WorkChain(func::FuncOp function, TaskGraphOp taskgraph) : body(function.front()) {
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
  placeReductions();
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

bool WorkChain::isOfConstants(Operation *op) const { return ofBatches.contains(op) && !samples.contains(op); }

bool WorkChain::isOfStates(Operation *op) const {
  return isForward(op) && !samples.contains(op) && !ofBatches.contains(op);
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

/// A reduction, and what it alone is made of: of the norm of a parameter, the squares.
WorkChain::OpSet WorkChain::getReduced(Operation *reduction) const {
  OpSet own;
  own.insert(reduction);
  auto isOwn = [&](Operation *user) { return own.contains(body.findAncestorOpInBlock(*user)); };
  for (size_t next = 0; next < own.size(); ++next)
    for (Value value : getUsedValues(own[next]))
      if (Operation *producer = value.getDefiningOp();
          producer && isOfStates(producer) && llvm::all_of(producer->getUsers(), isOwn))
        own.insert(producer);
  return own;
}

/// The last block, up to that of the first reader, that has all that `own` reads.
std::optional<unsigned> WorkChain::getSourceBlock(const OpSet &own) const {
  auto reader = places.find(own.front());
  unsigned last = reader == places.end() ? getNumBlocks() - 1 : reader->second;
  llvm::BitVector having(last + 1, true);
  for (Operation *op : own)
    for (Value value : getUsedValues(op)) {
      if (own.contains(value.getDefiningOp()) || isOfConstants(value.getDefiningOp()))
        continue;
      llvm::BitVector known(last + 1);
      for (unsigned block : getKnownBlocks(value, own))
        if (block <= last)
          known.set(block);
      having &= known;
    }
  int block = having.find_last();
  return block < 0 ? std::nullopt : std::optional<unsigned>(block);
}

/// The last block that makes one of the numbers that an op adds up. None if it reads anything else.
std::optional<unsigned> WorkChain::getLastNumber(Operation *op) const {
  std::optional<unsigned> last;
  for (Value value : getUsedValues(op)) {
    Operation *producer = value.getDefiningOp();
    if (isOfConstants(producer))
      continue;
    if (!numbers.contains(producer))
      return std::nullopt;
    last = std::max(last.value_or(0), places.lookup(producer));
  }
  return last;
}

/// A number made of states, such as the norm of a parameter that is a part of the loss, is made where these
/// are, and what adds such numbers up is with the last of them. The states would go to where it is read,
/// else.
void WorkChain::placeReductions() {
  auto isNumber = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getNumElements() == 1;
  };
  for (Operation *op : ops) {
    if (!isOfStates(op) || !llvm::all_of(op->getResults(), isNumber))
      continue;
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    bool isReduction = structured && structured.getNumReductionLoops() > 0;
    OpSet own = isReduction ? getReduced(op) : OpSet(&op, &op + 1);
    std::optional<unsigned> block = isReduction ? getSourceBlock(own) : getLastNumber(op);
    if (!block)
      continue;
    numbers.insert(op);
    for (Operation *made : own)
      places[made] = *block;
  }
}

SmallVector<unsigned> WorkChain::getKnownBlocks(Value value, const OpSet &without) const {
  Operation *producer = value.getDefiningOp();
  if (isOfConstants(producer))
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
    if (auto place = places.find(reader);
        place != places.end() && isForward(reader) && !without.contains(reader))
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
