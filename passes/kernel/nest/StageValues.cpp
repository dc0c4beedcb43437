//===- StageValues.cpp - Values of a step of a stage -----------------------------===//
//
// Problem: payloads are written for one element; a step computes many, and some are the same for all of them.
//
// Method: a value is emitted where it stops changing: per kernel, per row or per step. Ops on elements are
// cloned on vectors if an operand is one; scalars are broadcast where they meet vectors.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

StageEmitter::Varies StageEmitter::getVariation(const StridedAccess &access) const {
  if (hasLanes() && access.strides.back() != 0)
    return Varies::lane;
  return access.isConstant() ? Varies::never : Varies::row;
}

StageEmitter::Varies StageEmitter::getVariation(Element &node) {
  if (auto found = variations.find(&node); found != variations.end())
    return found->second;
  Varies varies = computeVariation(node);
  variations[&node] = varies; // computing it may have moved the entries
  return varies;
}

StageEmitter::Varies StageEmitter::computeVariation(Element &node) {
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
  std::pair<Element *, size_t> key(&node, varies == Varies::never ? 0 : rowOfPass);
  SmallVector<Value> &results = known[size_t(varies)][key];
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
  known[size_t(varies)][key] = computed; // evaluating operands may have moved the entry
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
    value = gather(extract, mapping, loops);
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

// If lane i of a run has the index v + i, the value of v; null if lanes differ in another way.
Value StageEmitter::getFirstLane(Value index, size_t run, IRMapping &mapping, ArrayRef<StridedAccess> loops) {
  if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
    const StridedAccess &access = loops[loop.getDim()];
    return hasLanes() && access.strides.back() == 1 ? getIndex(access, run) : Value();
  }
  auto sum = index.getDefiningOp<arith::AddIOp>();
  Value start = sum ? mapping.lookupOrDefault(sum.getLhs()) : Value();
  if (!sum || isa<VectorType>(start.getType()))
    return {};
  Value first = getFirstLane(sum.getRhs(), run, mapping, loops);
  return first ? arith::AddIOp::create(b, start, first).getResult() : Value();
}

// The elements of lanes that follow one another in memory, a row of a table say; null if they do not.
Value StageEmitter::gatherRun(tensor::ExtractOp op, IRMapping &mapping, ArrayRef<StridedAccess> loops) {
  if (lanes == 1 || op.getIndices().empty())
    return {};
  SmallVector<Value> indices;
  for (Value index : op.getIndices().drop_back())
    indices.push_back(mapping.lookupOrDefault(index));
  if (llvm::any_of(indices, [](Value index) { return isa<VectorType>(index.getType()); }))
    return {};
  Value last = op.getIndices().back();
  if (!getFirstLane(last, 0, mapping, loops))
    return {};
  ArrayRef<int64_t> shape = op.getTensor().getType().getShape();
  auto getIndex = [&](size_t run) {
    SmallVector<Value> first = indices;
    first.push_back(getFirstLane(last, run, mapping, loops));
    return linearize(b, first, shape);
  };
  // Rows of a table are aligned if the first one is; a start within a row may be any.
  auto loop = last.getDefiningOp<linalg::IndexOp>();
  SmallVector<int64_t> offsets = {shape.back()};
  if (loop) {
    const StridedAccess &access = loops[loop.getDim()];
    offsets.push_back(access.offset);
    llvm::append_range(offsets, ArrayRef(access.strides).drop_back());
  }
  return loadRuns(op.getTensor(), getIndex, loop ? getAlignment(getSource(op.getTensor()), offsets) : 0);
}

Value StageEmitter::gather(tensor::ExtractOp op, IRMapping &mapping, ArrayRef<StridedAccess> loops) {
  if (Value run = gatherRun(op, mapping, loops))
    return run;
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
  Value none = getConstant(b.getZeroAttr(result));
  Value gathered = vector::GatherOp::create(b, result, buffer, ValueRange(function.getIndex(0)), linear,
                                            getLaneMask(), none);
  return fromStorage(gathered, type.getElementType());
}
