//===- StageEmitter.cpp - The loops of one stage ---------------------------------===//
//
// Problem: one loop nest must compute several roots over one domain at the speed of the machine's vectors.
//
// Method: the innermost loop takes `lanes` elements at a time; what is left of a row follows in pieces of one
// register, the last one masked. Several registers a step give independent chains for reductions. A value is
// emitted where it stops changing: per kernel, per row or per step. All values of a step are computed before
// the first is stored, so a result may overwrite an operand it shares its elements with.
//
// Reference: docs/design.md, section 6.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Registers that one step of the innermost loop fills.
static constexpr int64_t kRegisters = 4;
// Beyond this many ops more than one register a step costs compile time and gains nothing.
static constexpr int64_t kLargeStage = 100;

//===----------------------------------------------------------------------===//
// Shape of the loops
//===----------------------------------------------------------------------===//

StageEmitter::StageEmitter(Stage &stage, KernelFunction &function, KernelValues &values, unsigned vectorBits)
    : stage(stage), function(function), b(function.getBuilder()), values(values) {
  ivs.resize(stage.domain.size());
  collectAccumulators();
  chooseLanes(vectorBits);
}

// Ops of one step of the innermost loop.
static int64_t countOps(Stage &stage) {
  auto countPayload = [](Operation *op) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    return linalgOp ? int64_t(linalgOp.getBlock()->getOperations().size()) - 1 : 1;
  };
  int64_t ops = 0;
  for (Element &node : stage.expressions->getNodes())
    ops += node.kind == Element::Kind::payload ? countPayload(node.op) : 0;
  for (Root &root : stage.roots)
    ops += root.reduction ? countPayload(root.reduction) : 0;
  return ops;
}

void StageEmitter::chooseLanes(unsigned vectorBits) {
  if (!hasLanes())
    return;
  int64_t bits = 32;
  bool reducesLanes = false, scattered = false;
  auto widen = [&](Type type) {
    if (type.isIntOrFloat())
      bits = std::max<int64_t>(bits, type.getIntOrFloatBitWidth());
  };
  for (Root &root : stage.roots) {
    bool reduced = root.reduced.back();
    reducesLanes |= reduced;
    scattered |= reduced && !matchCombiner(root.reduction, 0);
    for (auto [value, store] : llvm::zip_equal(root.values, root.stores)) {
      widen(getElementTypeOrSelf(value));
      scattered |= !reduced && store.strides.back() != 1;
    }
  }
  for (Element &node : stage.expressions->getNodes())
    if (node.tensor)
      widen(getElementTypeOrSelf(node.tensor));
  if (scattered)
    return;
  int64_t size = stage.domain.back(), unit = vectorBits / bits;
  int64_t most = countOps(stage) > kLargeStage ? unit : kRegisters * unit;
  // A short row is one masked vector. With a sum over it, whole vectors first: LLVM expands lanes that are
  // known to be absent at a high price.
  bool wholeFirst = size >= unit || (reducesLanes && size > unit / 2);
  fullLanes = 1;
  while (fullLanes < most && (wholeFirst ? fullLanes * 2 <= size : fullLanes < size))
    fullLanes *= 2;
  tailLanes = std::min(fullLanes, unit);
}

void StageEmitter::openLoops(Value row) {
  ArrayRef<int64_t> rowSizes = ArrayRef(stage.domain).take_front(stage.rowRank);
  Value rest = row;
  for (int64_t dim = int64_t(stage.rowRank) - 1; dim >= 0; --dim) {
    Value size = function.getIndex(rowSizes[dim]);
    ivs[dim] = dim == 0 ? rest : arith::RemUIOp::create(b, rest, size).getResult();
    if (dim > 0)
      rest = arith::DivUIOp::create(b, rest, size);
  }
  for (size_t dim = stage.rowRank; dim + 1 < stage.domain.size(); ++dim) {
    auto loop = scf::ForOp::create(b, function.getIndex(0), function.getIndex(stage.domain[dim]),
                                   function.getIndex(1));
    kernelPoint = kernelPoint ? kernelPoint : loop;
    ivs[dim] = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
  }
}

void StageEmitter::emitRow(Value row, Operation *point) {
  OpBuilder::InsertionGuard guard(b);
  kernelPoint = point;
  openLoops(row);
  emitInnermost();
}

void StageEmitter::emitRange(Value low, Value high) {
  OpBuilder::InsertionGuard guard(b);
  openLoops(Value());
  emitInnermost(low, high);
}

// The whole innermost dimension: whole vectors, then pieces of one register.
void StageEmitter::emitInnermost() {
  if (!hasLanes()) {
    emitBody({});
    return;
  }
  int64_t size = stage.domain.back(), whole = size / fullLanes * fullLanes;
  lanes = whole ? fullLanes : tailLanes;
  SmallVector<Value> accumulated = llvm::map_to_vector(accumulators, [&](auto &a) { return getIdentity(a); });
  if (whole == fullLanes) {
    ivs.back() = function.getIndex(0);
    accumulated = emitBody(accumulated);
  } else if (whole) {
    accumulated = emitLoop(function.getIndex(0), function.getIndex(whole), accumulated);
  }
  if (whole < size && lanes != tailLanes) {
    for (auto [accumulator, value] : llvm::zip_equal(accumulators, accumulated))
      value = narrow(accumulator, value, tailLanes);
    lanes = tailLanes;
  }
  for (int64_t begin = whole; begin < size; begin += lanes) {
    ivs.back() = function.getIndex(begin);
    int64_t left = std::min(lanes, size - begin);
    if (left < lanes)
      mask = vector::ConstantMaskOp::create(b, getVectorType(b.getI1Type()), b.getDenseI64ArrayAttr({left}));
    accumulated = emitBody(accumulated);
    mask = Value();
  }
  finishReductions(accumulated);
}

// A range of the innermost dimension: whole vectors, then a masked one.
void StageEmitter::emitInnermost(Value low, Value high) {
  lanes = fullLanes;
  if (lanes == 1) {
    emitLoop(low, high, {});
    return;
  }
  Value size = arith::SubIOp::create(b, high, low);
  Value left = arith::RemUIOp::create(b, size, function.getIndex(lanes));
  Value end = arith::SubIOp::create(b, high, left);
  emitLoop(low, end, {});
  Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, left, function.getIndex(0));
  auto rest = scf::IfOp::create(b, any);
  b.setInsertionPointToStart(rest.thenBlock());
  mask = vector::CreateMaskOp::create(b, getVectorType(b.getI1Type()), left);
  ivs.back() = end;
  emitBody({});
  mask = Value();
}

SmallVector<Value> StageEmitter::emitLoop(Value low, Value high, ArrayRef<Value> accumulated) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, low, high, function.getIndex(lanes), accumulated);
  rowPoint = loop;
  kernelPoint = kernelPoint ? kernelPoint : loop;
  b.setInsertionPointToStart(loop.getBody());
  ivs.back() = loop.getInductionVar();
  SmallVector<Value> next = emitBody(llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
  if (!next.empty())
    scf::YieldOp::create(b, next);
  rowPoint = nullptr;
  return llvm::to_vector_of<Value>(loop.getResults());
}

// One step: values first, then accumulators and stores.
SmallVector<Value> StageEmitter::emitBody(ArrayRef<Value> accumulated) {
  known[size_t(Varies::lane)].clear();
  SmallVector<std::tuple<Value, Value, StridedAccess *>> stores;
  SmallVector<Value> next;
  for (Root &root : stage.roots) {
    if (!root.reduction) {
      stores.emplace_back(evaluate(root.nodes[0]), root.values[0], &root.stores[0]);
      continue;
    }
    bool inRegisters = llvm::any_of(accumulators, [&](Accumulator &a) { return a.root == &root; });
    SmallVector<Value> old, terms;
    for (unsigned result = 0; !inRegisters && result < root.values.size(); ++result)
      old.push_back(load(root.values[result], root.stores[result], /*varies=*/hasLanes()));
    evaluateTerms(root, terms, old);
    for (unsigned result = 0; !inRegisters && result < root.values.size(); ++result)
      stores.emplace_back(terms[result], root.values[result], &root.stores[result]);
    for (Accumulator &accumulator : accumulators)
      if (accumulator.root == &root)
        next.push_back(accumulate(accumulator, accumulated[next.size()], terms[accumulator.result]));
  }
  for (auto [value, tensor, access] : stores)
    store(value, tensor, *access);
  return next;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

StageEmitter::Varies StageEmitter::getVariation(const StridedAccess &access) const {
  if (hasLanes() && access.strides.back() != 0)
    return Varies::lane;
  return access.isConstant() ? Varies::never : Varies::row;
}

StageEmitter::Varies StageEmitter::getVariation(Element &node) {
  if (node.kind == Element::Kind::scalar)
    return Varies::never;
  if (node.kind == Element::Kind::load)
    return std::max(getVariation(node.access),
                    stage.stored.contains(node.tensor) ? Varies::row : Varies::never);
  Varies varies = Varies::never;
  for (ElementRef operand : node.operands)
    if (operand.node)
      varies = std::max(varies, getVariation(*operand.node));
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(node.op))
    for (auto index : linalgOp.getBlock()->getOps<linalg::IndexOp>())
      varies = std::max(varies, getVariation(node.loops[index.getDim()]));
  return varies;
}

Value StageEmitter::evaluate(ElementRef ref) {
  Element &node = *ref.node;
  Varies varies = getVariation(node);
  SmallVector<Value> &results = known[size_t(varies)][&node];
  if (!results.empty())
    return results[ref.result];
  OpBuilder::InsertionGuard guard(b);
  Operation *point = varies == Varies::never ? kernelPoint : varies == Varies::row ? rowPoint : nullptr;
  if (point)
    b.setInsertionPoint(point);
  SmallVector<Value> computed;
  if (node.kind == Element::Kind::scalar)
    computed = {getScalar(node)};
  else if (node.kind == Element::Kind::load)
    computed = {load(node.tensor, node.access, varies == Varies::lane)};
  else
    evaluatePayload(node, computed);
  known[size_t(varies)][&node] = computed; // evaluating operands may have moved the entry
  return computed[ref.result];
}

Value StageEmitter::getScalar(Element &node) {
  return node.constant ? getConstant(node.constant) : values.scalars.lookup(node.tensor);
}

Value StageEmitter::getConstant(TypedAttr attr) { return arith::ConstantOp::create(b, attr); }

void StageEmitter::evaluatePayload(Element &node, SmallVector<Value> &results) {
  IRMapping mapping = values.scalars;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(node.op);
  if (!linalgOp) {
    for (auto [operand, ref] : llvm::zip_equal(node.op->getOperands(), node.operands))
      mapping.map(operand, evaluate(ref));
    results.push_back(cloneElementwise(node.op, mapping));
    return;
  }
  Block &payload = *linalgOp.getBlock();
  for (auto [argument, ref] : llvm::zip_equal(payload.getArguments(), node.operands))
    if (ref.node)
      mapping.map(argument, evaluate(ref));
  for (Operation &op : payload.without_terminator())
    evaluateOp(&op, mapping, node.loops);
  for (Value yielded : payload.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(yielded));
}

Value StageEmitter::evaluateOp(Operation *op, IRMapping &mapping, ArrayRef<StridedAccess> loops) {
  Value result = op->getResult(0), value;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    value = getPosition(loops[index.getDim()], b.getIndexType());
  } else if (auto cast = dyn_cast<arith::IndexCastOp>(op);
             cast && cast.getIn().getDefiningOp<linalg::IndexOp>()) {
    // Lanes of 32 bits from the start: vectors of index have half as many.
    auto index = cast.getIn().getDefiningOp<linalg::IndexOp>();
    value = getPosition(loops[index.getDim()], cast.getType());
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    value = gather(extract, mapping);
  } else {
    value = cloneElementwise(op, mapping);
  }
  mapping.map(result, value);
  return value;
}

Value StageEmitter::broadcast(Value value) {
  if (lanes == 1 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, getVectorType(value.getType()), value);
}

Value StageEmitter::cloneElementwise(Operation *op, IRMapping &mapping) {
  bool isVector = llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
  });
  IRMapping operands;
  for (Value operand : op->getOperands()) {
    Value value = mapping.lookupOrDefault(operand);
    operands.map(operand, isVector ? broadcast(value) : value);
  }
  Operation *cloned = b.clone(*op, operands);
  for (Value result : cloned->getResults()) {
    Type element = getElementTypeOrSelf(result);
    result.setType(isVector ? Type(getVectorType(element)) : element);
  }
  return cloned->getResult(0);
}

Value StageEmitter::gather(tensor::ExtractOp op, IRMapping &mapping) {
  auto type = op.getTensor().getType();
  SmallVector<Value> indices =
      llvm::map_to_vector(op.getIndices(), [&](Value v) { return mapping.lookupOrDefault(v); });
  bool isVector = llvm::any_of(indices, [](Value index) { return isa<VectorType>(index.getType()); });
  Value linear = getConstant(b.getIndexAttr(0));
  if (isVector)
    linear = broadcast(linear);
  for (auto [index, stride] : llvm::zip_equal(indices, getStrides(type.getShape()))) {
    Value factor = getConstant(b.getIndexAttr(stride)), step = isVector ? broadcast(index) : index;
    Value term = arith::MulIOp::create(b, step, isVector ? broadcast(factor) : factor);
    linear = arith::AddIOp::create(b, linear, term);
  }
  Value buffer = getSource(op.getTensor());
  if (!isVector)
    return loadElement(b, buffer, linear, type.getElementType());
  VectorType result = getVectorType(getStorageType(type.getElementType()));
  Value all = mask ? mask : getConstant(DenseElementsAttr::get(getVectorType(b.getI1Type()), true)),
        none = getConstant(b.getZeroAttr(result));
  Value gathered =
      vector::GatherOp::create(b, result, buffer, ValueRange(function.getIndex(0)), linear, all, none);
  return fromStorage(gathered, type.getElementType());
}
