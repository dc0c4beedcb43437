//===- StackWriter.cpp - A step on the rows of stacks ---------------------===//
//
//   on the axis of members               | is written as
//   -------------------------------------+------------------------------------------------------------------
//   an op on parts or addends            | an op for each member
//   a reshard of what is whole to parts  | parts of it: of a concatenation the operands, of a padding what is
//                                        | padded or zeros, of all else slices
//   a reshard of parts to what is whole  | a concatenation, made where it is read: a slice of it that one
//                                        | member has is a slice of its part
//   a reshard of addends to what is whole| their sum
//
//===----------------------------------------------------------------------===//

#include "passes/shard/stages/StackWriter.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/localize/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::epl;

static RankedTensorType getType(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
class StackWriter {
public:
  StackWriter(func::FuncOp function, MeshOp mesh, AxisAttr axis, const Stacks &stacks)
      : function(function), mesh(mesh), axis(axis), stacks(stacks) {}

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
  void declare();
  void declareResults(ArrayRef<int64_t> firstArguments, SmallVectorImpl<Type> &types,
                      SmallVectorImpl<DictionaryAttr> &attrs);
  void mapArguments();
  void writeOp(Operation *op);
  void writeReshard(ReshardOp op);
  void writeOnParts(Operation *op);
  void writeOnMember(Operation *op, int64_t member);
  bool writeSliceOfPart(tensor::ExtractSliceOp slice);
  void writeReturn();
  Value getWhole(Value value);
  Value join(ValueRange parts, int64_t dim, Operation *reader);
  Value combine(ReshardOp op);
  Value cut(Value whole, int64_t dim, int64_t member);
  Value cutConcatenation(ConcatenateOp op, int64_t member);
  Value cutPadding(tensor::PadOp op, int64_t dim, int64_t member);
  Value createSlice(Location loc, Value value, int64_t dim, int64_t offset, int64_t size);
  std::optional<Value> getOtherAddend(Operation *op, int64_t member);
  void setWork(int64_t member, Operation *before, WorkKind kind);
  void replaceIndices();
  Operation *getLast() const { return block->empty() ? nullptr : &block->back(); }

  func::FuncOp function, made;
  MeshOp mesh;
  AxisAttr axis;
  const Stacks &stacks;
  Block *block = nullptr;
  IRMapping whole;
  DenseMap<Value, Value> joined;             ///< what is whole if somebody asks, by the parts that it is of
  DenseMap<Value, SmallVector<Value>> parts; ///< of each member
  DenseSet<Value> zeros;                     ///< parts that are zero
  std::vector<std::unique_ptr<Localizer>> members;
};
} // namespace

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static DictionaryAttr withPosition(Builder &builder, DictionaryAttr attrs, int64_t position) {
  NamedAttrList list(attrs);
  if (!list.get(EplDialect::kPositionAttr))
    list.set(EplDialect::kPositionAttr, builder.getI64IntegerAttr(position));
  list.erase(EplDialect::kShardingAttr);
  return list.getDictionary(builder.getContext());
}

/// The attributes of the rows of one member.
static DictionaryAttr withRows(Builder &builder, DictionaryAttr attrs, int64_t first, int64_t count) {
  NamedAttrList list(attrs);
  list.set(EplDialect::kCallerRowsAttr, builder.getDenseI64ArrayAttr({first, count}));
  return list.getDictionary(builder.getContext());
}

/// `firstArguments`: where the arguments of the old function begin in the new one.
void StackWriter::declareResults(ArrayRef<int64_t> firstArguments, SmallVectorImpl<Type> &types,
                                 SmallVectorImpl<DictionaryAttr> &attrs) {
  Builder builder(function.getContext());
  for (OpOperand &use : function.front().getTerminator()->getOpOperands()) {
    unsigned index = use.getOperandNumber();
    DictionaryAttr own = withPosition(builder, function.getResultAttrDict(index), index);
    BlockArgument updated = getUpdatedArgument(function, index);
    int64_t rows = updated && isCut(updated) ? getType(updated).getDimSize(0) / getNumMembers() : 0;
    for (int64_t member = 0; member < (rows ? getNumMembers() : 1); ++member) {
      NamedAttrList list(rows ? withRows(builder, own, member * rows, getType(updated).getDimSize(0)) : own);
      if (updated)
        list.set(EplDialect::kUpdatesAttr,
                 builder.getI64IntegerAttr(firstArguments[updated.getArgNumber()] + member));
      attrs.push_back(list.getDictionary(builder.getContext()));
      types.push_back(rows ? getLocalType(updated) : use.get().getType());
    }
  }
}

void StackWriter::declare() {
  Builder builder(function.getContext());
  SmallVector<Type> types, results;
  SmallVector<DictionaryAttr> attrs, resultAttrs;
  SmallVector<int64_t> firstArguments;
  for (BlockArgument argument : function.getArguments()) {
    firstArguments.push_back(types.size());
    unsigned index = argument.getArgNumber();
    DictionaryAttr own = withPosition(builder, function.getArgAttrDict(index), index);
    int64_t rows = isCut(argument) ? getLocalType(argument).getDimSize(0) : 0;
    for (int64_t member = 0; member < (rows ? getNumMembers() : 1); ++member) {
      attrs.push_back(rows ? withRows(builder, own, member * rows, getType(argument).getDimSize(0)) : own);
      types.push_back(rows ? getLocalType(argument) : argument.getType());
    }
  }
  declareResults(firstArguments, results, resultAttrs);
  made = OpBuilder(function).cloneWithoutRegions(function);
  made.setType(builder.getFunctionType(types, results));
  made.setAllArgAttrs(attrs);
  made.setAllResultAttrs(resultAttrs);
  block = made.addEntryBlock();
}

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

Value StackWriter::createSlice(Location loc, Value value, int64_t dim, int64_t offset, int64_t size) {
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  RankedTensorType type = getType(value);
  if (offset == 0 && size == type.getDimSize(dim))
    return value;
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), sizes,
      strides(type.getRank(), builder.getIndexAttr(1));
  for (int64_t extent : type.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  offsets[dim] = builder.getIndexAttr(offset);
  sizes[dim] = builder.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes, strides);
}

/// The operands, or parts of them, that a member has.
Value StackWriter::cutConcatenation(ConcatenateOp op, int64_t member) {
  int64_t dim = op.getDim(), size = getType(op.getResult()).getDimSize(dim) / getNumMembers();
  int64_t begin = member * size, end = begin + size, offset = 0;
  SmallVector<Value> pieces;
  for (Value operand : op.getOperands()) {
    int64_t first = std::max(begin, offset), last = std::min(end, offset + getType(operand).getDimSize(dim));
    if (first < last)
      pieces.push_back(createSlice(op.getLoc(), getWhole(operand), dim, first - offset, last - first));
    offset += getType(operand).getDimSize(dim);
  }
  return join(pieces, dim, op);
}

/// Null if several dimensions are padded, or not by a constant.
Value StackWriter::cutPadding(tensor::PadOp op, int64_t dim, int64_t member) {
  RankedTensorType type = op.getResultType();
  Value filling = op.getConstantPaddingValue();
  TypedAttr constant;
  if (!filling || !matchPattern(filling, m_Constant(&constant)))
    return {};
  for (int64_t each = 0; each < type.getRank(); ++each)
    if (each != dim && type.getDimSize(each) != op.getSourceType().getDimSize(each))
      return {};
  SmallVector<int64_t> shape(type.getShape());
  int64_t size = shape[dim] /= getNumMembers(), begin = member * size;
  int64_t low = op.getStaticLow()[dim], high = low + op.getSourceType().getDimSize(dim);
  int64_t first = std::clamp(low, begin, begin + size), last = std::clamp(high, begin, begin + size);
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  if (first == last) {
    Value part = arith::ConstantOp::create(
        builder, op.getLoc(), DenseElementsAttr::get(type.clone(shape), ArrayRef<Attribute>(constant)));
    if (matchPattern(filling, m_AnyZeroFloat()) || matchPattern(filling, m_Zero()))
      zeros.insert(part);
    return part;
  }
  Value source = createSlice(op.getLoc(), getWhole(op.getSource()), dim, first - low, last - first);
  if (last - first == size)
    return source;
  SmallVector<OpFoldResult> before(type.getRank(), builder.getIndexAttr(0)), behind = before;
  before[dim] = builder.getIndexAttr(first - begin);
  behind[dim] = builder.getIndexAttr(begin + size - last);
  builder.setInsertionPointToEnd(block);
  Value element = arith::ConstantOp::create(builder, op.getLoc(), constant);
  return tensor::PadOp::create(builder, op.getLoc(), type.clone(shape), source, before, behind, element);
}

Value StackWriter::cut(Value value, int64_t dim, int64_t member) {
  Value part;
  if (auto concatenate = value.getDefiningOp<ConcatenateOp>();
      concatenate && int64_t(concatenate.getDim()) == dim)
    part = cutConcatenation(concatenate, member);
  else if (auto pad = value.getDefiningOp<tensor::PadOp>())
    part = cutPadding(pad, dim, member);
  if (part)
    return part;
  int64_t size = getType(value).getDimSize(dim) / getNumMembers();
  return createSlice(value.getLoc(), getWhole(value), dim, member * size, size);
}

//===----------------------------------------------------------------------===//
// Parts as what is whole
//===----------------------------------------------------------------------===//

/// Concatenates; of the work of `reader`.
Value StackWriter::join(ValueRange values, int64_t dim, Operation *reader) {
  if (values.size() == 1)
    return values.front();
  SmallVector<int64_t> shape(getType(values.front()).getShape());
  shape[dim] = 0;
  for (Value value : values)
    shape[dim] += getType(value).getDimSize(dim);
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  auto made =
      ConcatenateOp::create(builder, reader->getLoc(), getType(values.front()).clone(shape), values, dim);
  if (Attribute work = reader->getAttr(EplDialect::kWorkAttr))
    made->setAttr(EplDialect::kWorkAttr, work);
  return made;
}

Value StackWriter::getWhole(Value value) {
  auto known = joined.find(value);
  if (known != joined.end() && !whole.contains(value))
    whole.map(value, join(parts.lookup(known->second), getState(known->second).dim, value.getDefiningOp()));
  return whole.lookup(value);
}

/// The combination of what all members have. What is narrower than f32 is rounded once.
Value StackWriter::combine(ReshardOp op) {
  RankedTensorType type = op.getType();
  Type element = type.getElementType();
  Type wide = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32
                  ? Float32Type::get(element.getContext())
                  : element;
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
          size = getType(slice.getSource()).getDimSize(dim) / getNumMembers();
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

/// All that was written behind `before` is work of a member.
void StackWriter::setWork(int64_t member, Operation *before, WorkKind kind) {
  auto own = WorkAttr::get(function.getContext(), stacks.getTaskGraph(member), kind);
  for (Operation *next = before ? before->getNextNode() : &block->front(); next; next = next->getNextNode())
    next->setAttr(EplDialect::kWorkAttr, own);
}

/// What an addition makes of the part of a member where the other part is zero.
std::optional<Value> StackWriter::getOtherAddend(Operation *op, int64_t member) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 2 || generic.getNumReductionLoops() != 0 ||
      !llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  Block &inner = *generic.getBody();
  Operation *sum = inner.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(sum) || inner.getOperations().size() != 2 ||
      inner.getArgument(2).hasNUsesOrMore(1))
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
  if (std::optional<Value> other = getOtherAddend(op, member))
    localizer.values.map(op->getResult(0), *other);
  else if (!model || !model.localize(localizer))
    localizer.cloneLocal(op);
  setWork(member, last, *getWorkKind(op));
  for (Value result : op->getResults())
    parts[result].push_back(localizer.values.lookup(result));
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
  if (isOnParts(op)) {
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
      results.push_back(join(parts.lookup(value), getState(value).dim, value.getDefiningOp()));
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
      if (Attribute work = use.getOwner()->getAttr(EplDialect::kWorkAttr))
        number->setAttr(EplDialect::kWorkAttr, work);
      use.set(number);
    }
    index.getDefiningOp()->erase();
  }
}

func::FuncOp StackWriter::write() {
  declare();
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
