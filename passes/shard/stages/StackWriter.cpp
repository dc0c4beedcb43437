//===- StackWriter.cpp - A step on the rows of stacks ---------------------===//
//
//   on the axis of members               | is written as
//   -------------------------------------+------------------------------------------------------------------
//   an op on parts or addends            | an op for each member, a loop of such one for each
//   a reshard of what is whole to parts  | parts of it: of a concatenation the operands, of a padding what is
//                                        | padded or zeros, of all else slices
//   a reshard of parts to what is whole  | a concatenation, made where it is read: a slice of it that one
//                                        | member has is a slice of its part
//   a reshard of addends to what is whole| their sum
//
//===----------------------------------------------------------------------===//

#include "passes/shard/stages/StackWriter.h"

#include "dialect/Additions.h"
#include "dialect/Loops.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/stages/Pieces.h"
#include "passes/shard/stages/RowArguments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

static WorkAttr getWork(Operation *op) { return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr); }

namespace {
class StackWriter {
public:
  StackWriter(func::FuncOp function, MeshOp mesh, AxisAttr axis, const Stacks &stacks)
      : function(function), mesh(mesh), axis(axis), stacks(stacks), loops(function.front()) {}

  func::FuncOp write();

private:
  int64_t getNumMembers() const { return axis.getSize(); }
  AxisState getState(Value value) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? getAxisState(getSharding(value), axis.getName()) : AxisState();
  }
  bool isWhole(Value value) const { return getState(value).isReplicated(); }
  /// Whether an argument becomes one for each member.
  bool isCut(BlockArgument argument) const { return getState(argument).dim == 0; }
  bool isOnParts(Operation *op) const;
  bool isOnMembers(Operation *op) const { return isOnParts(op) || memberLoops.contains(loops.getLoop(op)); }
  void findLoops();
  void mapArguments();
  void writeOp(Operation *op);
  void writeReshard(ReshardOp op);
  void writeOnMember(Operation *op, int64_t member);
  bool writeSliceOfPart(tensor::ExtractSliceOp slice);
  void writeReturn();
  Value getWhole(Value value);
  Value join(Value value, Operation *reader);
  Value combine(ReshardOp op);
  Value cut(Value whole, int64_t dim, int64_t member);
  Value cutConcatenation(ConcatenateOp op, int64_t member);
  std::optional<Value> getOtherAddend(Operation *op, int64_t member);
  void setWork(int64_t member, Operation *before, WorkKind kind);
  void replaceIndices();
  Operation *getLast() const { return block->empty() ? nullptr : &block->back(); }

  func::FuncOp function, made;
  MeshOp mesh;
  AxisAttr axis;
  const Stacks &stacks;
  Loops loops;
  DenseMap<LoopAttr, SmallVector<LoopAttr>> memberLoops; ///< of those with ops on parts, one for each member
  Block *block = nullptr;
  IRMapping whole;
  DenseMap<Value, Value> joined;             ///< what is whole if somebody asks, by the parts that it is of
  DenseMap<Value, SmallVector<Value>> parts; ///< of each member
  DenseSet<Value> zeros;                     ///< parts that are zero
  std::vector<std::unique_ptr<Localizer>> members;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void StackWriter::mapArguments() {
  auto *next = block->args_begin();
  for (BlockArgument argument : function.getArguments()) {
    for (int64_t member = 0; member < (isCut(argument) ? getNumMembers() : 1); ++member) {
      next->setLoc(argument.getLoc());
      if (isCut(argument))
        parts[argument].push_back(*next++);
      else
        whole.map(argument, *next++);
    }
  }
  for (BlockArgument argument : function.getArguments())
    if (int64_t dim = getState(argument).dim; dim > 0)
      for (int64_t member = 0; member < getNumMembers(); ++member) {
        Operation *last = getLast();
        parts[argument].push_back(cut(argument, dim, member));
        setWork(member, last, WorkKind::forward);
      }
}

//===----------------------------------------------------------------------===//
// Parts of what is whole
//===----------------------------------------------------------------------===//

/// The operands, or parts of them, that a member has.
Value StackWriter::cutConcatenation(ConcatenateOp op, int64_t member) {
  int64_t dim = op.getDim(), size = getTensorType(op.getResult()).getDimSize(dim) / getNumMembers();
  int64_t begin = member * size, end = begin + size, offset = 0;
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  SmallVector<Value> pieces;
  for (Value operand : op.getOperands()) {
    int64_t first = std::max(begin, offset),
            last = std::min(end, offset + getTensorType(operand).getDimSize(dim));
    if (first < last)
      pieces.push_back(
          createPiece(builder, op.getLoc(), getWhole(operand), {dim, first - offset, last - first}));
    offset += getTensorType(operand).getDimSize(dim);
  }
  return joinPieces(builder, op.getLoc(), pieces, dim, getWork(op));
}

Value StackWriter::cut(Value value, int64_t dim, int64_t member) {
  int64_t size = getTensorType(value).getDimSize(dim) / getNumMembers();
  PieceRange range{dim, member * size, size};
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  if (auto concatenate = value.getDefiningOp<ConcatenateOp>();
      concatenate && int64_t(concatenate.getDim()) == dim)
    return cutConcatenation(concatenate, member);
  if (auto pad = value.getDefiningOp<tensor::PadOp>()) {
    PaddedPiece piece = createPaddedPiece(builder, pad, getWhole(pad.getSource()), range);
    if (piece.isZero)
      zeros.insert(piece.value);
    if (piece.value)
      return piece.value;
  }
  return createPiece(builder, value.getLoc(), getWhole(value), range);
}

//===----------------------------------------------------------------------===//
// Parts as what is whole
//===----------------------------------------------------------------------===//

/// What has parts as one tensor, of the work of `reader`; an argument where the first part is.
Value StackWriter::join(Value value, Operation *reader) {
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  WorkAttr work = reader ? getWork(reader)
                         : WorkAttr::get(function.getContext(), stacks.getTaskGraph(0), WorkKind::forward);
  return joinPieces(builder, reader ? reader->getLoc() : value.getLoc(), parts.lookup(value),
                    getState(value).dim, work);
}

Value StackWriter::getWhole(Value value) {
  auto known = joined.find(value);
  if (known != joined.end() && !whole.contains(value))
    whole.map(value, join(known->second, value.getDefiningOp()));
  return whole.lookup(value);
}

/// The combination of what all members have, rounded once.
Value StackWriter::combine(ReshardOp op) {
  RankedTensorType type = op.getType();
  Type element = type.getElementType(), wide = getSumType(element);
  arith::AtomicRMWKind combiner = getCombiner(*getState(op.getOperand()).partial, wide);
  auto add = [&](OpBuilder &at, ValueRange elements) {
    Value sum;
    for (Value own : elements) {
      own = wide == element ? own : arith::ExtFOp::create(at, op.getLoc(), wide, own);
      sum = sum ? arith::getReductionOp(combiner, at, op.getLoc(), sum, own) : own;
    }
    return wide == element ? sum : arith::TruncFOp::create(at, op.getLoc(), element, sum);
  };
  ArrayRef<Value> addends = parts.find(op.getOperand())->second;
  Localizer &localizer = *members.front();
  SmallVector<AffineMap> maps(addends.size(), localizer.builder.getMultiDimIdentityMap(type.getRank()));
  return localizer.createMap(op, type, op.getSharding(), addends, maps, add)->getResult(0);
}

void StackWriter::writeReshard(ReshardOp op) {
  Value from = op.getOperand();
  AxisState before = getState(from), after = getState(op.getResult());
  if (before.partial) {
    whole.map(op.getResult(), combine(op));
    return;
  }
  if (before.isSharded()) {
    joined[op.getResult()] = from;
    return;
  }
  SmallVector<Value> &own = parts[op.getResult()];
  for (int64_t member = 0; member < getNumMembers(); ++member) {
    Operation *last = getLast();
    Localizer &localizer = *members[member];
    own.push_back(after.partial
                      ? localizer.createMask(op, getWhole(from), mesh, getSharding(from), op.getSharding())
                      : cut(from, after.dim, member));
    setWork(member, last, *getWorkKind(op));
  }
}

/// A slice of what is joined that one member has.
bool StackWriter::writeSliceOfPart(tensor::ExtractSliceOp slice) {
  auto known = joined.find(slice.getSource());
  if (known == joined.end())
    return false;
  int64_t dim = getState(known->second).dim,
          size = getTensorType(slice.getSource()).getDimSize(dim) / getNumMembers();
  int64_t begin = slice.getStaticOffset(dim);
  int64_t last = begin + (slice.getStaticSize(dim) - 1) * slice.getStaticStride(dim);
  if (last < begin || begin / size != last / size)
    return false;
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  int64_t member = begin / size;
  Operation *before = getLast();
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  offsets[dim] = builder.getIndexAttr(begin % size);
  auto made = tensor::ExtractSliceOp::create(builder, slice.getLoc(), slice.getType(),
                                             parts.lookup(known->second)[member], offsets,
                                             slice.getMixedSizes(), slice.getMixedStrides());
  setWork(member, before, *getWorkKind(slice));
  whole.map(slice.getResult(), made.getResult());
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool StackWriter::isOnParts(Operation *op) const {
  auto isPart = [&](Value value) { return !isWhole(value); };
  return llvm::any_of(op->getResults(), isPart) || llvm::any_of(getUsedValues(op), isPart);
}

/// A loop is on one mesh, so that each member has one of its own. It does what is whole there, too.
void StackWriter::findLoops() {
  int64_t free = getFreeLoopId(function.front());
  for (Operation &op : function.front())
    if (LoopAttr loop = loops.getLoop(&op); loop && isOnParts(&op) && !memberLoops.contains(loop))
      for (int64_t member = 0; member < getNumMembers(); ++member)
        memberLoops[loop].push_back(LoopAttr::get(function.getContext(), free++, loop.getTripCount(),
                                                  /*micro_batches=*/false));
}

/// All that was written behind `before` is work of a member.
void StackWriter::setWork(int64_t member, Operation *before, WorkKind kind) {
  auto own = WorkAttr::get(function.getContext(), stacks.getTaskGraph(member), kind);
  for (Operation *next = before ? before->getNextNode() : &block->front(); next; next = next->getNextNode())
    next->setAttr(EplDialect::kWorkAttr, own);
}

/// What an addition makes of the part of a member where the other part is zero.
std::optional<Value> StackWriter::getOtherAddend(Operation *op, int64_t member) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isAddition(generic))
    return std::nullopt;
  IRMapping &values = members[member]->values;
  for (unsigned input : {0u, 1u})
    if (Value part = values.lookup(generic.getDpsInputs()[1 - input]); zeros.contains(part))
      return values.lookup(generic.getDpsInputs()[input]);
  return std::nullopt;
}

void StackWriter::writeOnMember(Operation *op, int64_t member) {
  Localizer &localizer = *members[member];
  for (Value value : getUsedValues(op)) {
    auto own = parts.find(value);
    localizer.values.map(value, own != parts.end() ? own->second[member] : getWhole(value));
  }
  Operation *last = getLast();
  auto model = dyn_cast<ShardableOp>(op);
  if (LoopAttr loop = getEdgeLoop(op))
    localizer.cloneLocal(op)->setAttr("loop", memberLoops.lookup(loop)[member]);
  else if (std::optional<Value> other = getOtherAddend(op, member))
    localizer.values.map(op->getResult(0), *other);
  else if (!model || !model.localize(localizer))
    localizer.cloneLocal(op);
  setWork(member, last, *getWorkKind(op));
  for (Value result : op->getResults()) {
    parts[result].push_back(localizer.values.lookup(result));
    if (member == 0 && isWhole(result)) // the same for all
      whole.map(result, parts[result].front());
  }
}

void StackWriter::writeOp(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return writeReshard(reshard);
  if (auto constrain = dyn_cast<ConstrainOp>(op);
      constrain && constrain.getConstraint().getDimOf(axis.getName())) {
    SmallVector<Value> own = parts.lookup(constrain.getOperand());
    parts[constrain.getResult()] = own;
    return;
  }
  if (isOnMembers(op)) {
    for (int64_t member = 0; member < getNumMembers(); ++member)
      writeOnMember(op, member);
    return;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op); slice && writeSliceOfPart(slice))
    return;
  for (Value value : getUsedValues(op))
    getWhole(value);
  OpBuilder::atBlockEnd(block).clone(*op, whole);
}

void StackWriter::writeReturn() {
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> results;
  for (OpOperand &use : terminator->getOpOperands()) {
    BlockArgument updated = getUpdatedArgument(function, use.getOperandNumber());
    Value value = use.get();
    if (updated && isCut(updated))
      llvm::append_range(results, parts.lookup(value));
    else if (isWhole(value))
      results.push_back(getWhole(value));
    else
      results.push_back(join(value, value.getDefiningOp()));
  }
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  func::ReturnOp::create(builder, terminator->getLoc(), results);
}

/// Members are known by number.
void StackWriter::replaceIndices() {
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  for (auto [member, localizer] : llvm::enumerate(members)) {
    Value index = localizer->getAxisIndex(symbol, axis.getName());
    for (OpOperand &use : llvm::make_early_inc_range(index.getUses())) {
      OpBuilder builder(use.getOwner());
      auto number = arith::ConstantIndexOp::create(builder, index.getLoc(), int64_t(member));
      copyWork(use.getOwner(), number);
      use.set(number);
    }
    index.getDefiningOp()->erase();
  }
}

func::FuncOp StackWriter::write() {
  made = declareRows(function, getNumMembers(), [&](BlockArgument argument) { return isCut(argument); });
  block = &made.front();
  findLoops();
  for (int64_t member = 0; member < getNumMembers(); ++member)
    members.push_back(std::make_unique<Localizer>(block));
  mapArguments();
  for (Operation &op : function.front().without_terminator())
    writeOp(&op);
  writeReturn();
  replaceIndices();
  return made;
}

func::FuncOp mlir::epl::writeStacks(func::FuncOp function, MeshOp mesh, AxisAttr axis, const Stacks &stacks) {
  return StackWriter(function, mesh, axis, stacks).write();
}
