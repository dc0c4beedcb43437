//===- ScatterNest.cpp - Loop nests of scatters ----------------------------------===//
//
// Problem: several updates may meet one element, in an order that must not depend on how the work is shared.
//
// Method: copy the operand, then walk the updates in order, one window after the other. Dimensions that a
// window and the operand both have innermost are one run of memory (a row of an embedding): its updates are
// combined as vectors. A window's start is compared with the operand's bounds once.
//
// Invariant out: the nest is serial. Threads would have to share the operand's elements, which only some
// scatters allow, and most are short beside what surrounds them.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ScatterNest.h"

#include "dialect/Indexed.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(ScatterOp op, Value result, function_ref<TensorSource(Value)> getSource,
                 KernelFunction &function, unsigned vectorBits)
      : op(op), access(op), result(result), getSource(getSource), function(function),
        b(function.getBuilder()), element(access.operand.getElementType()) {
    if (vectorBits && !element.isInteger(1))
      lanes = vectorBits / element.getIntOrFloatBitWidth();
    chooseRun();
  }

  void emit();

private:
  using Indices = SmallVector<Value>;

  void chooseRun();
  Value openLoop(int64_t extent);
  void emitCopy();
  Indices emitStarts(ArrayRef<Value> at);
  void emitWindow(ArrayRef<Value> starts, MutableArrayRef<Value> at);
  void emitRun(int64_t size, function_ref<void(Value)> step);
  Value load(TensorSource source, Value index);
  void store(Value value, Value index);
  Value combine(Value old, Value update);
  Value add(Value a, Value c) { return arith::AddIOp::create(b, a, c); }

  ScatterOp op;
  IndexedAccess access;
  Value result;
  function_ref<TensorSource(Value)> getSource;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  Type element;
  int64_t lanes = 1;
  /// The run of memory: the operand's dimensions from `runDim` on, `runSize` elements.
  int64_t runDim, runSize = 1;
  /// Of the step that is being emitted: elements, and which of them are there (null for all).
  int64_t width = 1;
  Value mask;
};

} // namespace

// The innermost dimensions that windows have in the operand's order; all but the first are taken whole.
void ScatterEmitter::chooseRun() {
  runDim = access.operand.getRank();
  int64_t window = access.windows.getRank();
  while (runDim > 0 && access.operandDims[runDim - 1] == window - 1 && access.getBatchDim(runDim - 1) < 0 &&
         (runDim == access.operand.getRank() || access.isWhole(runDim)))
    runSize *= access.getWindow(--runDim), --window;
}

// A loop over [0, extent), which the builder enters.
Value ScatterEmitter::openLoop(int64_t extent) {
  auto loop = scf::ForOp::create(b, function.getIndex(0), function.getIndex(extent), function.getIndex(1));
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

// `step` at vectors of elements [0, size), with a mask for those at the end.
void ScatterEmitter::emitRun(int64_t size, function_ref<void(Value)> step) {
  int64_t whole = size - size % lanes;
  if (whole > 0) {
    width = lanes;
    emitLoop(b, function.getIndex(0), function.getIndex(whole), function.getIndex(lanes), step);
  }
  width = size - whole;
  if (width == 0)
    return;
  if (width > 1) {
    int64_t rest = width;
    width = lanes;
    mask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()),
                                        ValueRange(function.getIndex(rest)));
  }
  step(function.getIndex(whole));
  mask = Value();
}

Value ScatterEmitter::load(TensorSource source, Value index) {
  if (source.splat)
    return width == 1
               ? source.splat
               : vector::BroadcastOp::create(b, VectorType::get({width}, element), source.splat).getResult();
  if (width == 1)
    return loadElement(b, source.buffer, index, element);
  return loadVector(b, VectorType::get({width}, element), source.buffer, index, mask);
}

void ScatterEmitter::store(Value value, Value index) {
  if (width == 1)
    storeElement(b, value, result, index);
  else
    storeVector(b, value, result, index, mask);
}

Value ScatterEmitter::combine(Value old, Value update) {
  auto create = [&]<typename FloatOp, typename IntegerOp>() -> Value {
    if (isa<FloatType>(element))
      return FloatOp::create(b, old, update);
    return IntegerOp::create(b, old, update);
  };
  switch (op.getCombine()) {
  case CombineKind::set:
    return update;
  case CombineKind::add:
    return create.operator()<arith::AddFOp, arith::AddIOp>();
  case CombineKind::mul:
    return create.operator()<arith::MulFOp, arith::MulIOp>();
  case CombineKind::min:
    return create.operator()<arith::MinimumFOp, arith::MinSIOp>();
  case CombineKind::max:
    return create.operator()<arith::MaximumFOp, arith::MaxSIOp>();
  case CombineKind::umin:
    return arith::MinUIOp::create(b, old, update);
  case CombineKind::umax:
    return arith::MaxUIOp::create(b, old, update);
  case CombineKind::andi:
    return arith::AndIOp::create(b, old, update);
  case CombineKind::ori:
    return arith::OrIOp::create(b, old, update);
  }
  llvm_unreachable("unknown combination");
}

void ScatterEmitter::emitCopy() {
  TensorSource operand = getSource(op.getOperand());
  emitRun(access.operand.getNumElements(), [&](Value index) { store(load(operand, index), index); });
}

// Where the window of the positions at `at` (indices of the updates) begins in the operand. Enters the code
// that runs if it ends in it.
ScatterEmitter::Indices ScatterEmitter::emitStarts(ArrayRef<Value> at) {
  Indices starts(access.operand.getRank(), Value()), position;
  for (int64_t dim : access.indexDims)
    position.push_back(at[dim]);
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, Value start, int64_t bound) {
    Value holds = arith::CmpIOp::create(b, predicate, start, function.getIndex(bound));
    inside = inside ? arith::AndIOp::create(b, inside, holds).getResult() : holds;
  };
  for (auto [dim, index] : llvm::zip_equal(access.of, access.indices)) {
    TensorSource source = getSource(index);
    auto type = cast<RankedTensorType>(index.getType());
    Value start = source.splat ? source.splat
                               : loadElement(b, source.buffer, linearize(b, position, type.getShape()),
                                             type.getElementType());
    start = arith::IndexCastOp::create(b, b.getIndexType(), start);
    require(arith::CmpIPredicate::sge, start, 0);
    require(arith::CmpIPredicate::sle, start, access.operand.getDimSize(dim) - access.getWindow(dim));
    starts[dim] = start;
  }
  if (inside)
    b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
  return starts;
}

// The loops over a window; `at` has the indices of the updates that are known.
void ScatterEmitter::emitWindow(ArrayRef<Value> starts, MutableArrayRef<Value> at) {
  Indices position;
  for (int64_t dim = 0; dim < access.operand.getRank(); ++dim) {
    int64_t window = access.operandDims[dim];
    Value index = starts[dim];
    if (window >= 0) {
      if (!at[window])
        at[window] = dim >= runDim ? function.getIndex(0) : openLoop(access.windows.getDimSize(window));
      index = index ? add(index, at[window]) : at[window];
    }
    position.push_back(index ? index : function.getIndex(0));
  }
  Value to = linearize(b, position, access.operand.getShape());
  Value from = linearize(b, at, access.windows.getShape());
  TensorSource updates = getSource(op.getUpdates()), written = {result, Value()};
  emitRun(runSize, [&](Value step) {
    Value index = add(to, step), update = load(updates, add(from, step));
    store(op.getCombine() == CombineKind::set ? update : combine(load(written, index), update), index);
  });
}

void ScatterEmitter::emit() {
  if (access.operand.getNumElements() == 0)
    return;
  emitCopy();
  if (access.windows.getNumElements() == 0)
    return;
  OpBuilder::InsertionGuard guard(b);
  Indices at(access.windows.getRank(), Value());
  for (int64_t dim : access.indexDims)
    at[dim] = openLoop(access.windows.getDimSize(dim));
  Indices starts = emitStarts(at);
  emitWindow(starts, at);
}

void mlir::epl::emitScatterNest(ScatterOp op, Value result, function_ref<TensorSource(Value)> getSource,
                                KernelFunction &function, unsigned vectorBits) {
  ScatterEmitter(op, result, getSource, function, vectorBits).emit();
}
