//===- LoopWriter.cpp - A placed step as loops over micro-batches ---------===//

#include "passes/shard/microbatch/LoopWriter.h"

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/microbatch/LoopSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
class LoopWriter {
public:
  LoopWriter(const FunctionRules &rules, AxisAttr axis, const LoopAssignment &assignment)
      : rules(rules), axis(axis), assignment(assignment), function(rules.getFunction()),
        mesh(FlatSymbolRefAttr::get(rules.getMesh().getSymNameAttr())) {}

  func::FuncOp write();

private:
  using Loop = LoopAssignment::Loop;
  void declare();
  void writeWhole();
  bool isReady(Operation *op) const;
  void writeWholeOp(Operation *op);
  void writeLoop(const Loop &loop);
  void writeIterationOp(Operation *op, IterationLocalizer &localizer);
  void writeEdge(Operation *op, IterationLocalizer &localizer);
  Value getInIteration(Value value, IterationLocalizer &localizer);
  void writeReshard(ReshardOp op, IterationLocalizer &localizer);
  Value createScaled(Operation *maker, Value value, bool isDivided, IterationLocalizer &localizer);
  void carryStates(const Loop &loop, IterationLocalizer &localizer);
  bool isSummed(Value value) const;
  llvm::MapVector<Value, Value> finishSums(const Loop &loop, IterationLocalizer &localizer);
  void stack(Value value, IterationLocalizer &localizer);
  Value accumulate(Value addend, int64_t index, IterationLocalizer &localizer);
  Value finish(Value left, Value sum, int64_t index, IterationLocalizer &localizer);
  void writeReturn();
  IterationLocalizer makeLocalizer(int64_t loop) {
    return {block, LoopAttr::get(function.getContext(), loop, axis.getSize(), /*micro_batches=*/true)};
  }
  /// That of the op, else of the first op that has any, else forward work of the first task graph.
  Attribute getWork(Operation *op) const {
    if (Attribute work = op ? op->getAttr(EplDialect::kWorkAttr) : Attribute())
      return work;
    for (Operation *other : rules.getOps())
      if (Attribute work = other->getAttr(EplDialect::kWorkAttr))
        return work;
    for (auto taskgraph : function->getParentOfType<ModuleOp>().getOps<TaskGraphOp>())
      return WorkAttr::get(taskgraph.getContext(), FlatSymbolRefAttr::get(taskgraph.getSymNameAttr()),
                           WorkKind::forward);
    return {};
  }
  /// The values of the function that an op reads, those that its regions capture among them.
  SmallVector<Value> getRead(Operation *op) const {
    SmallVector<Value> read;
    op->walk([&](Operation *inner) {
      llvm::copy_if(inner->getOperands(), std::back_inserter(read),
                    [&](Value value) { return value.getParentBlock() == op->getBlock(); });
    });
    return read;
  }
  /// The dimension that counts iterations where a value of all is kept.
  int64_t getStackDim(Value value) const {
    AxisState state = assignment.getState(value);
    return state.isSharded() ? state.dim : 0;
  }
  /// The type of a value with samples of all iterations.
  RankedTensorType getSplitType(Value value) const {
    return splitDim(getTensorType(value), assignment.getState(value).dim, axis.getSize());
  }

  const FunctionRules &rules;
  AxisAttr axis;
  const LoopAssignment &assignment;
  func::FuncOp function, made;
  FlatSymbolRefAttr mesh;
  Block *block = nullptr;
  IRMapping whole;                                  ///< what is there once
  DenseMap<Value, Value> split;                     ///< what is kept, and batches: all iterations' values
  DenseSet<Operation *> written;                    ///< and what is written in loops
  int64_t freeId = getFreeLoopId(function.front()); ///< of a loop
  DenseMap<std::pair<LoopAttr, LoopAttr>, LoopAttr> nested; ///< by the loop over micro-batches and the step's
  SmallVector<std::pair<Value, LoopAttr>>
      numbers; ///< what asks for the iteration's number, and of which loop
};
} // namespace

/// The function with its new types.
void LoopWriter::declare() {
  OpBuilder builder(function);
  made = builder.cloneWithoutRegions(function);
  SmallVector<Type> arguments(function.getArgumentTypes()), results(function.getResultTypes());
  auto keepShape = [&](Value value) { return builder.getDenseI64ArrayAttr(getTensorType(value).getShape()); };
  for (BlockArgument argument : function.getArguments()) {
    if (!assignment.isOfIteration(argument))
      continue;
    unsigned index = argument.getArgNumber();
    arguments[index] = getSplitType(argument);
    made.setArgAttr(index, EplDialect::kCallerShapeAttr, keepShape(argument));
    made.setArgAttr(index, EplDialect::kBatchDimAttr,
                    builder.getI64IntegerAttr(assignment.getState(argument).dim + 1));
  }
  for (OpOperand &use : function.front().getTerminator()->getOpOperands())
    if (assignment.isOfIteration(use.get())) {
      results[use.getOperandNumber()] = getSplitType(use.get());
      made.setResultAttr(use.getOperandNumber(), EplDialect::kCallerShapeAttr, keepShape(use.get()));
    }
  made.setType(builder.getFunctionType(arguments, results));
  block = made.addEntryBlock();
  for (auto [from, to] : llvm::zip_equal(function.getArguments(), block->getArguments())) {
    to.setLoc(from.getLoc());
    if (assignment.isOfIteration(from))
      split[from] = to;
    else
      whole.map(from, to);
  }
}

//===----------------------------------------------------------------------===//
// What is done once
//===----------------------------------------------------------------------===//

/// Whether what an op reads is there; of what leaves a loop, whether all of the loop is, and all that leaves
/// it: no mesh may wait for a part of that which is made of what it sends later.
bool LoopWriter::isReady(Operation *op) const {
  auto hasOperands = [&](Operation *reader) {
    return llvm::all_of(getRead(reader), [&](Value value) {
      return whole.contains(value) || (isa<ReshardOp>(reader) && isa<BlockArgument>(value));
    });
  };
  if (!leavesLoop(op))
    return hasOperands(op);
  return llvm::all_of(rules.getOps(), [&](Operation *other) {
    return rules.getLoops().getLoop(other) != getEdgeLoop(op) || written.contains(other) ||
           (leavesLoop(other) && hasOperands(other));
  });
}

/// Writes what is not yet written of the ops that are done once: those whose operands are there, in the old
/// order, but for what leaves a loop before all of that is there.
void LoopWriter::writeWhole() {
  for (bool changed = true; std::exchange(changed, false);)
    for (Operation *op : rules.getOps())
      if (!written.contains(op) && isReady(op)) {
        writeWholeOp(op);
        changed = true;
      }
}

void LoopWriter::writeWholeOp(Operation *op) {
  written.insert(op);
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  if (!isa<ReshardOp>(op)) {
    builder.clone(*op, whole);
    return;
  }
  IterationLocalizer localizer = makeLocalizer(0);
  localizer.work = getWork(op);
  Value batch = op->getOperand(0);
  whole.map(op->getResult(0),
            localizer.createJoin(split.lookup(batch), assignment.getState(batch).dim, op->getLoc()));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value LoopWriter::getInIteration(Value value, IterationLocalizer &localizer) {
  if (Value known = localizer.values.lookupOrNull(value))
    return known;
  if (!assignment.isOfIteration(value))
    return whole.lookup(value);
  return localizer.createPart(split.lookup(value), getStackDim(value), value.getLoc());
}

/// `value` times the number of micro-batches, or divided by it.
Value LoopWriter::createScaled(Operation *maker, Value value, bool isDivided, IterationLocalizer &localizer) {
  RankedTensorType type = getTensorType(value);
  auto scale = [&](OpBuilder &at, ValueRange elements) -> Value {
    Location loc = maker->getLoc();
    Type element = type.getElementType();
    if (!isa<FloatType>(element)) {
      Value count = arith::ConstantOp::create(at, loc, at.getIntegerAttr(element, axis.getSize()));
      return arith::MulIOp::create(at, loc, elements[0], count);
    }
    Value count = arith::ConstantOp::create(at, loc, at.getFloatAttr(element, double(axis.getSize())));
    return isDivided ? arith::DivFOp::create(at, loc, elements[0], count).getResult()
                     : arith::MulFOp::create(at, loc, elements[0], count).getResult();
  };
  return localizer
      .createMap(maker, type, ShardingAttr::getReplicated(mesh, type.getRank()), value,
                 localizer.builder.getMultiDimIdentityMap(type.getRank()), scale)
      ->getResult(0);
}

/// What enters the loop, or an estimate of a statistic (IterationStatistics.h).
void LoopWriter::writeReshard(ReshardOp op, IterationLocalizer &localizer) {
  Value from = localizer.values.lookup(op.getOperand());
  ShardingAttr before = getSharding(op.getOperand()), after = op.getSharding();
  std::optional<ReductionKind> addend = assignment.getState(op.getOperand()).partial;
  bool isShare = op->hasAttr(EplDialect::kPerMicroBatchAttr);
  if (addend)
    from = *addend == ReductionKind::sum ? createScaled(op, from, /*isDivided=*/false, localizer) : from;
  else if (after.isPartial())
    from = isShare ? createScaled(op, from, /*isDivided=*/true, localizer)
                   : localizer.createMask(op, from, rules.getMesh(), before, after);
  else
    from = localizer.createSlice(op.getLoc(), from, rules.getMesh(), before, after);
  localizer.values.map(op.getResult(), from);
}

void LoopWriter::writeIterationOp(Operation *op, IterationLocalizer &localizer) {
  localizer.work = getWork(op);
  for (Value value : getRead(op))
    localizer.values.map(value, getInIteration(value, localizer));
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return writeReshard(reshard, localizer);
  if (getEdgeLoop(op))
    return writeEdge(op, localizer);
  auto model = dyn_cast<ShardableOp>(op);
  if (!model || !model.localize(localizer))
    localizer.cloneLocal(op);
}

/// What enters or leaves a loop of the step, which is in that over micro-batches now.
void LoopWriter::writeEdge(Operation *op, IterationLocalizer &localizer) {
  LoopAttr old = getEdgeLoop(op);
  LoopAttr &made = nested[{localizer.loop, old}];
  if (!made)
    made = LoopAttr::get(old.getContext(), freeId++, old.getTripCount(), /*micro_batches=*/false,
                         localizer.loop);
  Operation *edge = localizer.cloneLocal(op);
  edge->setAttr("loop", made);
  localizer.values.map(op->getResults(), edge->getResults());
}

/// The values that states have in an iteration of a loop which makes their next ones.
void LoopWriter::carryStates(const Loop &loop, IterationLocalizer &localizer) {
  for (auto [index, entry] : llvm::enumerate(assignment.getStatistics().getCarried())) {
    auto [state, next] = entry;
    if (!llvm::is_contained(loop.ops, next.getDefiningOp()))
      continue;
    localizer.work = getWork(next.getDefiningOp());
    localizer.values.map(
        state, localizer.stamped(LoopCarryOp::create(localizer.builder, next.getLoc(), state.getType(),
                                                     localizer.loop, int64_t(index), whole.lookup(state))));
  }
}

/// The addends of all iterations so far, this one's among them.
Value LoopWriter::accumulate(Value addend, int64_t index, IterationLocalizer &localizer) {
  localizer.work = getWork(addend.getDefiningOp());
  ReductionKind kind = assignment.getState(addend).partial.value_or(ReductionKind::sum); // else of a mean
  return carrySum(addend, kind, index, mesh, localizer);
}

/// What a sum of `left`, or a mean, is after the last iteration.
Value LoopWriter::finish(Value left, Value sum, int64_t index, IterationLocalizer &localizer) {
  Operation *maker = sum.getDefiningOp();
  localizer.work = getWork(maker);
  Value last = localizer.stamped(
      LoopLastOp::create(localizer.builder, sum.getLoc(), sum.getType(), localizer.loop, index, sum));
  if (!assignment.getState(left).partial)
    last = createScaled(maker, last, /*isDivided=*/true, localizer);
  return roundSum(last, getTensorType(left).getElementType(), maker, mesh, localizer);
}

/// Keeps the values of all iterations.
void LoopWriter::stack(Value value, IterationLocalizer &localizer) {
  if (split.contains(value))
    return;
  localizer.work = getWork(value.getDefiningOp());
  split[value] = localizer.createStack(localizer.values.lookup(value), getStackDim(value), value.getLoc());
}

/// Whether what leaves an iteration is summed up, to be the whole sum or a mean.
bool LoopWriter::isSummed(Value value) const {
  const IterationStatistics &statistics = assignment.getStatistics();
  bool isNext = llvm::any_of(statistics.getCarried(), [&](auto &entry) { return entry.second == value; });
  return assignment.getState(value).partial || (statistics.contains(value) && !isNext);
}

/// What leaves a loop without samples, after the last iteration. All of the loop stands before.
llvm::MapVector<Value, Value> LoopWriter::finishSums(const Loop &loop, IterationLocalizer &localizer) {
  const auto &carried = assignment.getStatistics().getCarried();
  llvm::MapVector<Value, Value> sums;
  auto finishLast = [&](Value value, int64_t index) {
    localizer.work = getWork(value.getDefiningOp());
    sums[value] =
        localizer.stamped(LoopLastOp::create(localizer.builder, value.getLoc(), value.getType(),
                                             localizer.loop, index, localizer.values.lookup(value)));
  };
  for (ReshardOp exit : loop.exits)
    if (Value left = exit.getOperand(); isSummed(left) && !sums.contains(left)) {
      int64_t index = carried.size() + sums.size();
      sums[left] = accumulate(left, index, localizer);
    }
  for (auto [index, entry] : llvm::enumerate(sums))
    entry.second = finish(entry.first, entry.second, carried.size() + index, localizer);
  for (auto [index, entry] : llvm::enumerate(carried))
    if (Value next = entry.second; llvm::is_contained(loop.ops, next.getDefiningOp()))
      finishLast(next, int64_t(index));
  for (ReshardOp exit : loop.exits)
    if (Value left = exit.getOperand(); assignment.getNested().contains(left) && !sums.contains(left))
      finishLast(left, int64_t(carried.size() + sums.size()));
  return sums;
}

void LoopWriter::writeLoop(const Loop &loop) {
  IterationLocalizer localizer = makeLocalizer(freeId++);
  numbers.push_back({localizer.getAxisIndex(mesh, axis.getName()), localizer.loop});
  carryStates(loop, localizer);
  for (Operation *op : loop.ops)
    writeIterationOp(op, localizer);
  llvm::MapVector<Value, Value> sums = finishSums(loop, localizer);
  for (ReshardOp exit : loop.exits) {
    Value left = exit.getOperand();
    if (!sums.contains(left))
      stack(left, localizer);
    localizer.work = getWork(exit);
    written.insert(exit);
    whole.map(exit.getResult(),
              sums.contains(left)
                  ? sums.lookup(left)
                  : localizer.createJoin(split.lookup(left), assignment.getState(left).dim, exit.getLoc()));
  }
  for (Value kept : loop.kept)
    stack(kept, localizer);
}

/// Moves what stands among the ops of a loop, but is the same in all iterations, before the loop: it is done
/// once, and another mesh that reads it need not wait for the iterations.
static void hoist(Block &body) {
  Loops loops(body);
  Operation *entry = nullptr; // the first op of the loop that is not left yet
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    LoopAttr loop = getMicroBatchLoop(loops.getLoop(&op));
    if (!loop && entry)
      op.moveBefore(entry);
    else if (leavesLoop(&op) && getEdgeLoop(&op) == loop)
      entry = nullptr;
    else if (loop && !entry)
      entry = &op;
  }
}

void LoopWriter::writeReturn() {
  Operation *terminator = function.front().getTerminator();
  auto results = llvm::map_to_vector(terminator->getOperands(), [&](Value value) {
    return assignment.isOfIteration(value) ? split.lookup(value) : whole.lookup(value);
  });
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  func::ReturnOp::create(builder, terminator->getLoc(), results);
}

func::FuncOp LoopWriter::write() {
  declare();
  for (const Loop &loop : assignment.getLoops())
    written.insert_range(loop.ops);
  for (const Loop &loop : assignment.getLoops()) {
    writeWhole();
    writeLoop(loop);
  }
  writeWhole();
  assert(written.size() == rules.getOps().size() && "all is ready in the end");
  writeReturn();
  for (auto [index, loop] : numbers)
    passIterationNumber(index, loop);
  hoist(*block);
  return made;
}

func::FuncOp mlir::epl::writeLoops(const FunctionRules &rules, AxisAttr axis,
                                   const LoopAssignment &assignment) {
  return LoopWriter(rules, axis, assignment).write();
}
