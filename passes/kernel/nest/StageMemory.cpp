//===- StageMemory.cpp - Loads and stores of a stage -----------------------------===//
//
// Problem: an access is strided over the stage's domain; vectors want a contiguous run of memory.
//
// Method: what of an index does not depend on the innermost loop is computed before it. Along that loop an
// access is contiguous (one vector, masked at the end of a row), the same for all lanes (one scalar), or
// anything else (a gather).
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Where the elements of a tensor are read from.
Value StageEmitter::getSource(Value tensor) {
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return values.buffers.lookup(tensor);
  Value &source = values.constants[tensor];
  if (!source)
    source = function.getConstant(cast<DenseElementsAttr>(constant.getValue()));
  return source;
}

// The access without its innermost dimension: the same for a whole row.
Value StageEmitter::getBase(const StridedAccess &access) {
  OpBuilder::InsertionGuard guard(b);
  if (rowPoint)
    b.setInsertionPoint(rowPoint);
  Value base;
  for (size_t dim = 0; dim < stage.rowRank || dim + 1 < stage.domain.size(); ++dim) {
    if (access.strides[dim] == 0)
      continue;
    Value term = ivs[dim];
    if (access.strides[dim] != 1)
      term = arith::MulIOp::create(b, term, function.getIndex(access.strides[dim]));
    base = base ? arith::AddIOp::create(b, base, term).getResult() : term;
  }
  if (base && access.offset != 0)
    base = arith::AddIOp::create(b, base, function.getIndex(access.offset));
  return base ? base : function.getIndex(access.offset);
}

// Of the first element of a run.
Value StageEmitter::getIndex(const StridedAccess &access, size_t run) {
  Value base = getBase(access);
  if (getVariation(access) != Varies::lane)
    return base;
  int64_t stride = access.strides.back();
  Value step = run < runs.size() ? runs[run].start : ivs.back();
  if (stride != 1)
    step = arith::MulIOp::create(b, step, function.getIndex(stride));
  return arith::AddIOp::create(b, base, step);
}

Value StageEmitter::getLaneOffsets(int64_t stride, Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  SmallVector<APInt> offsets;
  for (int64_t lane = 0; lane < getRunLanes(); ++lane)
    offsets.push_back(APInt(64, lane * stride).sextOrTrunc(width));
  return getConstant(DenseIntElementsAttr::get(VectorType::get({getRunLanes()}, type), offsets));
}

Value StageEmitter::getPosition(const StridedAccess &access, Type type) {
  auto getFirst = [&](size_t run) {
    Value position = getIndex(access, run);
    return type.isIndex() ? position : arith::IndexCastOp::create(b, type, position).getResult();
  };
  if (lanes == 1 || getVariation(access) != Varies::lane)
    return getFirst(0);
  return concatenate(type, [&](size_t run) -> Value {
    Value first = vector::BroadcastOp::create(b, VectorType::get({getRunLanes()}, type), getFirst(run));
    return arith::AddIOp::create(b, first, getLaneOffsets(access.strides.back(), type));
  });
}

Value StageEmitter::fromStorage(Value stored, Type element) {
  if (element.isInteger(1)) {
    Value zero = getConstant(b.getZeroAttr(stored.getType()));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, stored, zero);
  }
  if (element.isIndex())
    return arith::IndexCastOp::create(b, getVectorType(element), stored);
  return stored;
}

// Lanes of a thread that are not there read what others do.
Value StageEmitter::getLaneMask() {
  return mask && !target.threads ? mask
                                 : getConstant(DenseElementsAttr::get(getVectorType(b.getI1Type()), true));
}

// The vector of elements of the runs, which begin at these indices.
Value StageEmitter::loadRuns(Value tensor, function_ref<Value(size_t run)> getIndex, int64_t alignment) {
  Type element = getElementTypeOrSelf(tensor), stored = getStorageType(element);
  VectorType type = VectorType::get({getRunLanes()}, stored);
  Value buffer = getSource(tensor),
        inRuns = concatenate(stored, [&](size_t run) {
          return loadIfPresent(type, run, [&] {
            return loadVector(b, type, buffer, getIndex(run), target.threads ? Value() : mask, alignment);
          });
        });
  return fromStorage(inRuns, element);
}

Value StageEmitter::load(Value tensor, const StridedAccess &access, bool varies) {
  if (!keeps(access))
    return loadFromMemory(tensor, access, varies);
  RowElements elements(tensor, access, stage);
  if (Value known = target.row->find(elements))
    return known;
  OpBuilder::InsertionGuard guard(b);
  if (elements.isOfAllRows() && !stage.stored.contains(tensor) && target.rowsLoop)
    b.setInsertionPoint(target.rowsLoop);
  Value value = loadFromMemory(tensor, access, varies);
  target.row->add(elements, value);
  return value;
}

Value StageEmitter::loadFromMemory(Value tensor, const StridedAccess &access, bool varies) {
  Type element = getElementTypeOrSelf(tensor);
  Value buffer = getSource(tensor);
  if (lanes == 1 || !varies) {
    Value index = getIndex(access);
    auto emit = [&] { return loadElement(b, buffer, index, element); };
    return varies ? loadIfPresent(element, 0, emit) : emit();
  }
  if (access.strides.back() == 1)
    return loadRuns(
        tensor, [&](size_t run) { return getIndex(access, run); }, getAlignmentAt(buffer, access));
  VectorType type = getVectorType(getStorageType(element));
  Value none = getConstant(b.getZeroAttr(type)), index = function.getIndex(0), offsets;
  if (runs.empty())
    index = getIndex(access), offsets = getLaneOffsets(access.strides.back(), b.getIndexType());
  else
    offsets = getPosition(access, b.getIndexType());
  return fromStorage(vector::GatherOp::create(b, type, buffer, index, offsets, getLaneMask(), none), element);
}

void StageEmitter::store(Value value, Value tensor, const StridedAccess &access) {
  Value buffer = values.buffers.lookup(tensor), index = getIndex(access);
  bool isForAll = hasLanes() && access.strides.back() != 0; // of threads
  if (target.row)
    target.row->forget(tensor);
  if (keeps(access) && (isForAll || !mask))
    target.row->add(RowElements(tensor, access, stage), isForAll ? broadcast(value) : value);
  if (target.threads && !isForAll) {
    if (target.sharedBuffers.contains(buffer))
      target.threads->synchronize(); // all threads have read what is overwritten
    ifPresent(target.threads->isFirst(), [&] { storeElement(b, value, buffer, index); });
    return;
  }
  if (lanes == 1 || !hasLanes()) {
    ifPresent(runs.empty() ? Value() : runs[0].present, [&] { storeElement(b, value, buffer, index); });
    return;
  }
  value = broadcast(value);
  Type element = getElementTypeOrSelf(tensor);
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(b, getVectorType(b.getI8Type()), value);
  else if (element.isIndex())
    value = arith::IndexCastOp::create(b, getVectorType(b.getI64Type()), value);
  if (target.threads)
    storeRuns(value, buffer, access, getAlignmentAt(buffer, access));
  else
    storeVector(b, value, buffer, index, mask);
}
