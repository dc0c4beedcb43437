//===- PlainSort.cpp - The plain loops of a sort ---------------------------------===//
//
// Problem: something must say what the fast sort has to compute, and run where it does not fit.
//
// Method: merge sort from the bottom up. Sorted runs of 1, 2, 4 ... elements are merged in pairs into a
// second copy of the row, which is copied back. Of two elements of which none comes first, the left one does.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/PlainSort.h"

#include "passes/kernel/nest/SortOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

class PlainSort {
public:
  PlainSort(SortOp sort, KernelFunction &function, ReadElement read, WriteElement write)
      : sort(sort), function(function), b(function.getBuilder()), read(read), write(write),
        extent(sort.getShape()[sort.getDim()]) {}

  void emit();

private:
  void sortRow(ArrayRef<Value> at);
  void mergePairs(Value level);
  void mergePair(Value low, Value middle, Value high);
  SmallVector<Value> load(ArrayRef<Value> buffers, Value index);
  Value clamp(Value index) { return arith::MinSIOp::create(b, index, function.getIndex(extent - 1)); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }

  SortOp sort;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  ReadElement read;
  WriteElement write;
  int64_t extent;
  SmallVector<Value> row, merged; // copies of a row, one for each operand
};

} // namespace

void PlainSort::emit() {
  for (Value operand : sort.getOperands()) {
    auto type = RankedTensorType::get({extent}, getElementTypeOrSelf(operand.getType()));
    row.push_back(function.allocate(type));
    merged.push_back(function.allocate(type));
  }
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> at;
  for (auto [dim, size] : llvm::enumerate(sort.getShape())) {
    at.emplace_back();
    if (dim == size_t(sort.getDim()))
      continue;
    auto loop = scf::ForOp::create(b, function.getIndex(0), function.getIndex(size), function.getIndex(1));
    at.back() = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
  }
  sortRow(at);
}

void PlainSort::sortRow(ArrayRef<Value> at) {
  SmallVector<Value> indices(at);
  Value zero = function.getIndex(0), one = function.getIndex(1);
  emitLoop(b, zero, function.getIndex(extent), one, [&](Value index) {
    indices[sort.getDim()] = index;
    for (auto [operand, buffer] : llvm::zip_equal(sort.getOperands(), row))
      storeElement(b, read(operand, indices), buffer, index);
  });
  int64_t levels = llvm::Log2_64_Ceil(std::max<int64_t>(extent, 1));
  emitLoop(b, zero, function.getIndex(levels), one, [&](Value level) { mergePairs(level); });
  emitLoop(b, zero, function.getIndex(sort.getLimit()), one, [&](Value index) {
    indices[sort.getDim()] = index;
    for (auto [value, result] : llvm::zip_equal(load(row, index), sort.getResults()))
      write(value, result, indices);
  });
}

// Merges all pairs of runs of 2^level elements.
void PlainSort::mergePairs(Value level) {
  Value zero = function.getIndex(0), one = function.getIndex(1), end = function.getIndex(extent);
  Value width = arith::ShLIOp::create(b, one, level);
  emitLoop(b, zero, end, arith::AddIOp::create(b, width, width), [&](Value low) {
    Value middle = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, width), end);
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, middle, width), end);
    mergePair(low, middle, high);
  });
  emitLoop(b, zero, end, one, [&](Value index) {
    for (auto [value, buffer] : llvm::zip_equal(load(merged, index), row))
      storeElement(b, value, buffer, index);
  });
}

void PlainSort::mergePair(Value low, Value middle, Value high) {
  using enum arith::CmpIPredicate;
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, low, high, function.getIndex(1), ValueRange{low, middle});
  b.setInsertionPointToStart(loop.getBody());
  Value left = loop.getRegionIterArg(0), right = loop.getRegionIterArg(1);
  SmallVector<Value> lefts = load(row, clamp(left)), rights = load(row, clamp(right));
  Value before = arith::OrIOp::create(b, compare(sge, left, middle), emitComparator(b, sort, rights, lefts));
  Value takesRight = arith::AndIOp::create(b, compare(slt, right, high), before);
  for (auto [x, y, buffer] : llvm::zip_equal(lefts, rights, merged))
    storeElement(b, arith::SelectOp::create(b, takesRight, y, x), buffer, loop.getInductionVar());
  Value step = arith::IndexCastUIOp::create(b, b.getIndexType(), takesRight);
  Value rest = arith::SubIOp::create(b, function.getIndex(1), step);
  scf::YieldOp::create(b, ValueRange{arith::AddIOp::create(b, left, rest).getResult(),
                                     arith::AddIOp::create(b, right, step).getResult()});
}

SmallVector<Value> PlainSort::load(ArrayRef<Value> buffers, Value index) {
  SmallVector<Value> values;
  for (auto [buffer, operand] : llvm::zip_equal(buffers, sort.getOperands()))
    values.push_back(loadElement(b, buffer, index, getElementTypeOrSelf(operand.getType())));
  return values;
}

void mlir::epl::emitPlainSort(SortOp sort, KernelFunction &function, ReadElement read, WriteElement write) {
  PlainSort(sort, function, read, write).emit();
}
