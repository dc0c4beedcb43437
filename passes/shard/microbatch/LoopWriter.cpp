//===- LoopWriter.cpp - A placed step as loops over micro-batches ---------===//

#include "passes/shard/microbatch/LoopWriter.h"

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/localize/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

static RankedTensorType getType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `type` with `extent` as a new dimension `dim`.
static RankedTensorType insertDim(RankedTensorType type, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + dim, extent);
  return type.clone(shape);
}

/// `type` with dimension `dim` as (parts, extent of one).
static RankedTensorType splitDim(RankedTensorType type, int64_t dim, int64_t parts) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  return insertDim(type.clone(shape), dim, parts);
}

/// The reshape between a tensor of `rank` dimensions and that tensor with dimension `dim` taken apart.
static SmallVector<ReassociationIndices> getGroups(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t each = 0; each < rank; ++each) {
    groups.push_back({each + (each > dim)});
    if (each == dim)
      groups.back().push_back(each + 1);
  }
  return groups;
}

namespace {
/// Builds ops around what the model of an op makes, all of one work.
class IterationLocalizer : public Localizer {
public:
  IterationLocalizer(Block *body, LoopAttr loop) : Localizer(body), loop(loop) {}

  /// The iteration's part of a whole tensor.
  Value createSlice(Location loc, Value tensor, MeshOp, ShardingAttr, ShardingAttr to) override {
    int64_t dim = 0;
    while (to.getDimAxes(dim).empty())
      ++dim;
    return createPart(createSplit(tensor, dim, loc), dim, loc);
  }
  Value createSplit(Value whole, int64_t dim, Location loc) {
    RankedTensorType type = splitDim(getType(whole), dim, loop.getTripCount());
    return stamped(
        tensor::ExpandShapeOp::create(builder, loc, type, whole, getGroups(getType(whole).getRank(), dim)));
  }
  Value createJoin(Value split, int64_t dim, Location loc) {
    SmallVector<int64_t> shape(getType(split).getShape());
    shape.erase(shape.begin() + dim);
    shape[dim] *= loop.getTripCount();
    return stamped(tensor::CollapseShapeOp::create(builder, loc, getType(split).clone(shape), split,
                                                   getGroups(shape.size(), dim)));
  }
  /// The iteration's part of a tensor of which dimension `dim` counts parts.
  Value createPart(Value split, int64_t dim, Location loc) {
    Value stack = moveDim(split, dim, 0, loc);
    RankedTensorType type = getType(stack);
    return stamped(LoopSliceOp::create(builder, loc, type.clone(type.getShape().drop_front()), loop,
                                       /*reverse=*/UnitAttr(), stack));
  }
  /// The values of all iterations, of which dimension `dim` counts them.
  Value createStack(Value part, int64_t dim, Location loc) {
    auto stack = LoopStackOp::create(builder, loc, insertDim(getType(part), 0, loop.getTripCount()), loop,
                                     /*reverse=*/UnitAttr(), part);
    return moveDim(stamped(stack), 0, dim, loc);
  }
  template <typename OpT> Value stamped(OpT op) {
    if (work)
      op->setAttr(EplDialect::kWorkAttr, work);
    return op->getResult(0);
  }

  LoopAttr loop;
  Attribute work; ///< of what is built

private:
  /// A tensor with dimension `from` as dimension `to`.
  Value moveDim(Value value, int64_t from, int64_t to, Location loc) {
    if (from == to)
      return value;
    RankedTensorType type = getType(value);
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, from);
    auto shape = llvm::map_to_vector(order, [&](int64_t dim) { return type.getDimSize(dim); });
    SmallVector<unsigned> loops(type.getRank()); // the loop along each dimension of the operand
    for (auto [position, dim] : llvm::enumerate(order))
      loops[dim] = position;
    Value empty = stamped(tensor::EmptyOp::create(builder, loc, shape, type.getElementType()));
    SmallVector<AffineMap> maps = {AffineMap::getPermutationMap(loops, type.getContext()),
                                   builder.getMultiDimIdentityMap(type.getRank())};
    SmallVector<utils::IteratorType> kinds(type.getRank(), utils::IteratorType::parallel);
    auto yield = [](OpBuilder &at, Location place, ValueRange elements) {
      linalg::YieldOp::create(at, place, elements.front());
    };
    return stamped(
        linalg::GenericOp::create(builder, loc, type.clone(shape), value, empty, maps, kinds, yield));
  }
};

class LoopWriter {
public:
  LoopWriter(const FunctionRules &rules, AxisAttr axis, const LoopAssignment &assignment)
      : rules(rules), axis(axis), assignment(assignment), function(rules.getFunction()),
        mesh(FlatSymbolRefAttr::get(rules.getMesh().getSymNameAttr())) {}

  func::FuncOp write();

private:
  using Loop = LoopAssignment::Loop;
  void declare();
  void writeWhole(bool all);
  bool isReady(Operation *op) const;
  void writeWholeOp(Operation *op);
  void writeLoop(const Loop &loop, bool isLast);
  void writeIterationOp(Operation *op, IterationLocalizer &localizer);
  Value getInIteration(Value value, IterationLocalizer &localizer);
  Value accumulate(Value addend, int64_t index, IterationLocalizer &localizer);
  Value finish(Value sum, int64_t index, Type element, IterationLocalizer &localizer);
  void writeReturn();
  IterationLocalizer makeLocalizer(int64_t loop) {
    return {block, LoopAttr::get(function.getContext(), loop, axis.getSize(), /*micro_batches=*/true)};
  }
  Attribute getWork(Operation *op) const {
    Attribute work = op ? op->getAttr(EplDialect::kWorkAttr) : Attribute();
    return work ? work : rules.getOps().front()->getAttr(EplDialect::kWorkAttr);
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
  /// The type of a value with samples of all iterations.
  RankedTensorType getSplitType(Value value) const {
    return splitDim(getType(value), assignment.getState(value).dim, axis.getSize());
  }

  const FunctionRules &rules;
  AxisAttr axis;
  const LoopAssignment &assignment;
  func::FuncOp function, made;
  FlatSymbolRefAttr mesh;
  Block *block = nullptr;
  IRMapping whole;               ///< what is there once
  DenseMap<Value, Value> split;  ///< results with samples, all iterations'
  DenseSet<Operation *> written; ///< and what is written in loops
  SmallVector<std::pair<Value, LoopAttr>>
      numbers; ///< what asks for the iteration's number, and of which loop
};
} // namespace

/// The function with its new types.
void LoopWriter::declare() {
  OpBuilder builder(function);
  made = builder.cloneWithoutRegions(function);
  SmallVector<Type> arguments(function.getArgumentTypes()), results(function.getResultTypes());
  auto keepShape = [&](Value value) { return builder.getDenseI64ArrayAttr(getType(value).getShape()); };
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

bool LoopWriter::isReady(Operation *op) const {
  return llvm::all_of(getRead(op), [&](Value value) {
    return whole.contains(value) || (isa<ReshardOp>(op) && isa<BlockArgument>(value));
  });
}

/// Writes what is not yet written of the ops that are done once: all, or those whose operands are there.
void LoopWriter::writeWhole(bool all) {
  for (Operation *op : rules.getOps()) {
    if (written.contains(op))
      continue;
    assert((!all || isReady(op)) && "all loops are written");
    if (isReady(op))
      writeWholeOp(op);
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
  if (!assignment.isOfIteration(value))
    return whole.lookup(value);
  if (Value known = localizer.values.lookupOrNull(value))
    return known;
  return localizer.createPart(split.lookup(value), assignment.getState(value).dim, value.getLoc());
}

void LoopWriter::writeIterationOp(Operation *op, IterationLocalizer &localizer) {
  localizer.work = getWork(op);
  for (Value value : getRead(op))
    localizer.values.map(value, getInIteration(value, localizer));
  if (auto enter = dyn_cast<ReshardOp>(op)) {
    Value from = localizer.values.lookup(enter.getOperand());
    ShardingAttr before = getSharding(enter.getOperand()), after = enter.getSharding();
    localizer.values.map(op->getResult(0),
                         after.isPartial()
                             ? localizer.createMask(op, from, rules.getMesh(), before, after)
                             : localizer.createSlice(op->getLoc(), from, rules.getMesh(), before, after));
    return;
  }
  auto model = dyn_cast<ShardableOp>(op);
  if (!model || !model.localize(localizer))
    localizer.cloneLocal(op);
}

/// The type in which a sum is carried: what is narrower than f32 would be rounded in each iteration.
static Type getCarriedType(Type element) {
  bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(element.getContext()) : element;
}

/// The addends of all iterations so far, this one's among them.
Value LoopWriter::accumulate(Value global, int64_t index, IterationLocalizer &localizer) {
  OpBuilder &builder = localizer.builder;
  Location loc = global.getLoc();
  Operation *maker = global.getDefiningOp();
  localizer.work = getWork(maker);
  Type element = getCarriedType(getType(global).getElementType());
  RankedTensorType type = getType(global).clone(element);
  arith::AtomicRMWKind combiner = getCombiner(*assignment.getState(global).partial, element);
  TypedAttr neutral = arith::getIdentityValueAttr(combiner, element, builder, loc);
  Value init = localizer.stamped(
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>(neutral))));
  Value carried = localizer.stamped(LoopCarryOp::create(builder, loc, type, localizer.loop, index, init));
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  auto combine = [&](OpBuilder &at, ValueRange elements) {
    Value addend = elements[1];
    if (addend.getType() != element)
      addend = arith::ExtFOp::create(at, loc, element, addend);
    return arith::getReductionOp(combiner, at, loc, elements[0], addend);
  };
  return localizer
      .createMap(maker, type, ShardingAttr::getReplicated(mesh, type.getRank()),
                 {carried, localizer.values.lookup(global)}, {identity, identity}, combine)
      ->getResult(0);
}

/// What a sum is after the last iteration.
Value LoopWriter::finish(Value sum, int64_t index, Type element, IterationLocalizer &localizer) {
  OpBuilder &builder = localizer.builder;
  Operation *maker = sum.getDefiningOp();
  localizer.work = getWork(maker);
  Value last =
      localizer.stamped(LoopLastOp::create(builder, sum.getLoc(), sum.getType(), localizer.loop, index, sum));
  if (getType(last).getElementType() == element)
    return last;
  RankedTensorType type = getType(last).clone(element);
  auto round = [&](OpBuilder &at, ValueRange elements) -> Value {
    return arith::TruncFOp::create(at, sum.getLoc(), element, elements[0]);
  };
  return localizer
      .createMap(maker, type, ShardingAttr::getReplicated(mesh, type.getRank()), last,
                 builder.getMultiDimIdentityMap(type.getRank()), round)
      ->getResult(0);
}

/// All of a loop stands before what leaves it.
void LoopWriter::writeLoop(const Loop &loop, bool isLast) {
  IterationLocalizer localizer = makeLocalizer(numbers.size());
  numbers.push_back({localizer.getAxisIndex(mesh, axis.getName()), localizer.loop});
  for (Operation *op : loop.ops)
    writeIterationOp(op, localizer);
  llvm::MapVector<Value, Value> sums;
  for (ReshardOp exit : loop.exits)
    if (Value left = exit.getOperand(); assignment.getState(left).partial && !sums.contains(left)) {
      int64_t index = sums.size();
      sums[left] = accumulate(left, index, localizer);
    }
  for (auto [index, entry] : llvm::enumerate(sums))
    entry.second = finish(entry.second, index, getType(entry.first).getElementType(), localizer);
  auto stack = [&](Value value) {
    if (split.contains(value))
      return;
    localizer.work = getWork(value.getDefiningOp());
    split[value] =
        localizer.createStack(localizer.values.lookup(value), assignment.getState(value).dim, value.getLoc());
  };
  for (ReshardOp exit : loop.exits) {
    Value left = exit.getOperand();
    if (!sums.contains(left))
      stack(left);
    localizer.work = getWork(exit);
    written.insert(exit);
    whole.map(exit.getResult(),
              sums.contains(left)
                  ? sums.lookup(left)
                  : localizer.createJoin(split.lookup(left), assignment.getState(left).dim, exit.getLoc()));
  }
  if (!isLast)
    return;
  for (Value result : function.front().getTerminator()->getOperands())
    if (assignment.isOfIteration(result))
      stack(result);
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
    writeWhole(/*all=*/false);
    writeLoop(loop, &loop == &assignment.getLoops().back());
  }
  writeWhole(/*all=*/true);
  writeReturn();
  for (auto [index, loop] : numbers)
    passIterationNumber(index, loop);
  return made;
}

func::FuncOp mlir::epl::writeLoops(const FunctionRules &rules, AxisAttr axis,
                                   const LoopAssignment &assignment) {
  return LoopWriter(rules, axis, assignment).write();
}
