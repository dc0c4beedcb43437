//===- RowSorter.cpp - Sorts a row in the workspace ------------------------------===//
//
// Problem: comparisons of unsorted elements are as good as random, and each branch that depends on one costs
// more than ten operations. A merge that takes one element after the other waits for one comparison after the
// other.
//
// Method: the row is cut into 2^levels runs whose lengths differ by one at most. A run is sorted by counting
// for each element how many come before it, all counts in one register; if that is no order of integers, by
// insertion. Then runs are merged in pairs, level by level. Each level, and the sort of runs, moves the row
// from one copy to the other. A merge works from both ends at once, each one half of the elements, so that
// two chains of comparisons overlap; neither can leave its run, because no half is longer than the shorter
// run, and no branch depends on a comparison. Nothing is read or written beyond the row, whatever the
// comparator.
//
// Reference: Peters and Bergdoll, driftsort (the two-sided merge).
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/RowSorter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Elements of a run, at most: the lanes of a register of 512 bits.
static constexpr int64_t kMaxRun = 16;

// The least number of levels with runs that are short enough; with `odd`, of those that bring the row back to
// where it began.
static int64_t chooseLevels(int64_t capacity, bool odd) {
  int64_t levels = capacity <= kMaxRun ? 0 : llvm::Log2_64_Ceil(llvm::divideCeil(capacity, kMaxRun));
  return odd && levels % 2 == 0 ? levels + 1 : levels;
}

// Integers: a choice between floats may become a branch.
static Type getBitsType(Type type) {
  Type stored = getStorageType(type);
  return IntegerType::get(type.getContext(), stored.getIntOrFloatBitWidth());
}

RowSorter::RowSorter(const SortOrder &order, ArrayRef<Type> carried, int64_t capacity, int64_t slices,
                     bool inPlace, KernelFunction &function)
    : order(order), function(function), b(function.getBuilder()), capacity(capacity),
      levels(chooseLevels(capacity, inPlace)), ranks(order.comparesIntegers()),
      types(order.getComparedTypes()) {
  numCompared = types.size();
  llvm::append_range(types, carried);
  for (Type type : types)
    columns.push_back(function.allocate(RankedTensorType::get({slices * 2 * capacity}, getBitsType(type))));
  if (ranks)
    rankBuffer = function.allocate(RankedTensorType::get({slices * kMaxRun}, b.getI32Type()));
}

void RowSorter::openSlice(Value slice) {
  base = arith::MulIOp::create(b, slice, function.getIndex(2 * capacity));
  if (ranks)
    rankBase = arith::MulIOp::create(b, slice, function.getIndex(kMaxRun));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value RowSorter::add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value RowSorter::sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
SmallVector<Value> RowSorter::select(Value condition, ArrayRef<Value> x, ArrayRef<Value> y) {
  return llvm::map_to_vector(llvm::zip_equal(x, y), [&](auto pair) -> Value {
    return arith::SelectOp::create(b, condition, std::get<0>(pair), std::get<1>(pair));
  });
}
Value RowSorter::toIndex(Value boolean) { return arith::IndexCastUIOp::create(b, b.getIndexType(), boolean); }

SmallVector<Value> RowSorter::loop(Value begin, Value end, ValueRange inits,
                                   function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, begin, end, function.getIndex(1), inits);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> carried = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(b, carried);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value RowSorter::encode(Value value) {
  Type type = value.getType(), bits = getBitsType(type);
  if (type.isInteger(1))
    return arith::ExtUIOp::create(b, bits, value);
  if (type.isIndex())
    return arith::IndexCastOp::create(b, bits, value);
  return type == bits ? value : arith::BitcastOp::create(b, bits, value).getResult();
}

Value RowSorter::decode(Value bits, Type type) {
  if (type.isInteger(1))
    return arith::TruncIOp::create(b, type, bits);
  if (type.isIndex())
    return arith::IndexCastOp::create(b, type, bits);
  return type == bits.getType() ? bits : arith::BitcastOp::create(b, type, bits).getResult();
}

SmallVector<Value> RowSorter::loadBits(Value index) {
  return llvm::map_to_vector(columns,
                             [&](Value column) -> Value { return memref::LoadOp::create(b, column, index); });
}

void RowSorter::storeBits(ArrayRef<Value> bits, Value index) {
  for (auto [value, column] : llvm::zip_equal(bits, columns))
    memref::StoreOp::create(b, value, column, index);
}

void RowSorter::store(Value position, ArrayRef<Value> compared, ArrayRef<Value> carried) {
  SmallVector<Value> bits = llvm::map_to_vector(compared, [&](Value value) { return encode(value); });
  for (Value value : carried)
    bits.push_back(encode(value));
  storeBits(bits, add(base, position));
}

SmallVector<Value> RowSorter::load(Value position) {
  Value sorted = add(base, function.getIndex((levels + 1) % 2 * capacity));
  SmallVector<Value> values = loadBits(add(sorted, position));
  for (auto [value, type] : llvm::zip_equal(values, types))
    value = decode(value, type);
  return values;
}

Value RowSorter::comesBefore(ArrayRef<Value> left, ArrayRef<Value> right) {
  SmallVector<Value> lefts, rights;
  for (size_t column = 0; column < numCompared; ++column) {
    lefts.push_back(decode(left[column], types[column]));
    rights.push_back(decode(right[column], types[column]));
  }
  return order.emitBefore(b, lefts, rights);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

// Where run `run` of 2^level begins.
Value RowSorter::getBound(Value run, Value level, Value size) {
  return arith::ShRUIOp::create(b, arith::MulIOp::create(b, run, size), level);
}

void RowSorter::sort(Value size) {
  Value zero = function.getIndex(0), one = function.getIndex(1), count = function.getIndex(levels);
  Value other = add(base, function.getIndex(capacity));
  loop(zero, function.getIndex(int64_t(1) << levels), {}, [&](Value run, ValueRange) -> SmallVector<Value> {
    Value low = getBound(run, count, size), high = getBound(add(run, one), count, size);
    if (ranks)
      sortRunByRank(low, high, base, other);
    else
      sortRunByInsertion(low, high, base, other);
    return {};
  });
  loop(zero, count, {other, base}, [&](Value step, ValueRange copies) -> SmallVector<Value> {
    mergeRuns(sub(sub(count, one), step), size, copies[0], copies[1]);
    return {copies[1], copies[0]};
  });
}

void RowSorter::sortRunByRank(Value low, Value high, Value from, Value to) {
  Value first = add(from, low), target = add(to, low), count = sub(high, low);
  storeRanks(first, count);
  loop(function.getIndex(0), count, {}, [&](Value lane, ValueRange) -> SmallVector<Value> {
    Value rank = memref::LoadOp::create(b, rankBuffer, add(rankBase, lane));
    Value place = arith::IndexCastUIOp::create(b, b.getIndexType(), rank);
    storeBits(loadBits(add(first, lane)), add(target, place));
    return {};
  });
}

// Of each of `count` elements from `first` on, how many come before it: those behind it that are before it in
// the order, and those in front of it that are not behind it.
void RowSorter::storeRanks(Value first, Value count) {
  using enum arith::CmpIPredicate;
  auto type = VectorType::get({kMaxRun}, b.getI32Type()), keyType = VectorType::get({kMaxRun}, types[0]);
  Value mask = vector::CreateMaskOp::create(b, VectorType::get({kMaxRun}, b.getI1Type()), count);
  Value keys = loadVector(b, keyType, columns[0], first, mask);
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, kMaxRun));
  Value lanes = arith::ConstantOp::create(b, DenseIntElementsAttr::get(type, numbers));
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value ranks =
      loop(function.getIndex(0), count, zeros, [&](Value lane, ValueRange sum) -> SmallVector<Value> {
        Value number = arith::IndexCastOp::create(b, b.getI32Type(), lane);
        Value place = vector::BroadcastOp::create(b, type, number);
        Value key = vector::BroadcastOp::create(b, keyType, loadBits(add(first, lane))[0]);
        Value isLater = arith::CmpIOp::create(b, sgt, place, lanes),
              isEarlier = arith::CmpIOp::create(b, slt, place, lanes);
        Value passes = arith::AndIOp::create(b, isLater, order.emitBefore(b, key, keys));
        Value behind = order.emitBefore(b, keys, key);
        Value stays = arith::SelectOp::create(b, behind, zeros, arith::ExtUIOp::create(b, type, isEarlier));
        Value counted = arith::OrIOp::create(b, stays, arith::ExtUIOp::create(b, type, passes));
        return {add(sum[0], counted)};
      })[0];
  storeVector(b, ranks, rankBuffer, rankBase, /*mask=*/Value());
}

void RowSorter::sortRunByInsertion(Value low, Value high, Value from, Value to) {
  Value first = add(to, low);
  loop(low, high, {}, [&](Value position, ValueRange) -> SmallVector<Value> {
    insert(loadBits(add(from, position)), first, add(to, position));
    return {};
  });
}

// Puts an element in front of those of [first, position) that it comes before, and moves these.
void RowSorter::insert(ArrayRef<Value> bits, Value first, Value position) {
  OpBuilder::InsertionGuard guard(b);
  Value one = function.getIndex(1);
  storeBits(bits, position); // of the first element of a run the loop reads the place itself
  auto shift = scf::WhileOp::create(b, b.getIndexType(), position);
  Value to = b.createBlock(&shift.getBefore(), {}, b.getIndexType(), b.getLoc())->getArgument(0);
  Value hasPrevious = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, to, first);
  Value previous = arith::SelectOp::create(b, hasPrevious, sub(to, one), first);
  Value before = comesBefore(bits, loadBits(previous));
  scf::ConditionOp::create(b, arith::AndIOp::create(b, hasPrevious, before), to);
  Value hole = b.createBlock(&shift.getAfter(), {}, b.getIndexType(), b.getLoc())->getArgument(0);
  Value next = sub(hole, one);
  storeBits(loadBits(next), hole);
  scf::YieldOp::create(b, next);
  b.setInsertionPointAfter(shift);
  storeBits(bits, shift.getResult(0));
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

// Merges the 2^(level + 1) runs in pairs.
void RowSorter::mergeRuns(Value level, Value size, Value from, Value to) {
  Value one = function.getIndex(1), below = add(level, one);
  Value pairs = arith::ShLIOp::create(b, one, level);
  loop(function.getIndex(0), pairs, {}, [&](Value pair, ValueRange) -> SmallVector<Value> {
    Value run = add(pair, pair);
    Value low = getBound(run, below, size), middle = getBound(add(run, one), below, size);
    merge(low, middle, getBound(add(pair, one), level, size), from, to);
    return {};
  });
}

void RowSorter::merge(Value low, Value middle, Value high, Value from, Value to) {
  Value one = function.getIndex(1);
  auto at = [&](Value position) { return add(from, position); };
  Value half = arith::ShRUIOp::create(b, sub(high, low), one);
  SmallVector<Value> ends = {at(low), at(middle), sub(at(middle), one), sub(at(high), one)};
  Value first = add(to, low), last = sub(add(to, high), one);
  ends = loop(function.getIndex(0), half, ends, [&](Value step, ValueRange ends) -> SmallVector<Value> {
    Value left = ends[0], right = ends[1], leftEnd = ends[2], rightEnd = ends[3];
    SmallVector<Value> lefts = loadBits(left), rights = loadBits(right);
    Value takesRight = comesBefore(rights, lefts);
    storeBits(select(takesRight, rights, lefts), add(first, step));
    SmallVector<Value> leftEnds = loadBits(leftEnd), rightEnds = loadBits(rightEnd);
    Value takesLeftEnd = comesBefore(rightEnds, leftEnds);
    storeBits(select(takesLeftEnd, leftEnds, rightEnds), sub(last, step));
    Value rightStep = toIndex(takesRight), leftEndStep = toIndex(takesLeftEnd);
    return {add(left, sub(one, rightStep)), add(right, rightStep), sub(leftEnd, leftEndStep),
            sub(rightEnd, sub(one, leftEndStep))};
  });
  // One element is left between the halves of an odd number.
  Value isLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, ends[0], ends[2]);
  Value rest = arith::SelectOp::create(b, isLeft, ends[0], ends[1]);
  loop(add(low, half), sub(high, half), {}, [&](Value position, ValueRange) -> SmallVector<Value> {
    storeBits(loadBits(rest), add(to, position));
    return {};
  });
}
