//===- ThreadGroup.cpp - Threads of a GPU that share a slice ---------------------===//
//
// Problem: threads that share a row must exchange what they have summed up, and wait for what others store.
//
// Method: in a warp by shuffles, in log2 steps: in step d threads whose numbers differ in bit d exchange
// their values, so that both combine the same two. Between the warps of a block by shared memory, which each
// thread reads in order.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ThreadGroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::epl;

int64_t mlir::epl::getRunOf(int64_t size, int64_t most) {
  while (size % most != 0)
    most /= 2;
  return most;
}

ThreadGroup::ThreadGroup(KernelFunction &function, int64_t size, int64_t groups, int64_t run)
    : function(function), b(function.getBuilder()), size(size), groups(groups), run(run) {
  assert(llvm::isPowerOf2_64(size) && llvm::isPowerOf2_64(groups) && (groups == 1 || size <= kWarp));
  inBlock = call("llvm.nvvm.read.ptx.sreg.tid.x", b.getI32Type(), {});
  auto getPart = [&](Value number, int64_t count) {
    Value part = arith::AndIOp::create(b, number, getInt(count - 1, 32));
    return arith::IndexCastUIOp::create(b, b.getIndexType(), part);
  };
  thread = getPart(inBlock, size);
  group = getPart(arith::ShRUIOp::create(b, inBlock, getInt(llvm::Log2_64(size), 32)), groups);
  inBlock = arith::IndexCastUIOp::create(b, b.getIndexType(), inBlock);
}

// `result` is null if the intrinsic has none.
Value ThreadGroup::call(StringRef intrinsic, Type result, ValueRange operands) {
  StringAttr name = b.getStringAttr(intrinsic);
  if (result)
    return LLVM::CallIntrinsicOp::create(b, result, name, operands)->getResult(0);
  LLVM::CallIntrinsicOp::create(b, name, operands);
  return Value();
}

Value ThreadGroup::getInt(int64_t value, unsigned bits) {
  return arith::ConstantIntOp::create(b, b.getIntegerType(bits), value);
}

Value ThreadGroup::isFirst() {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, function.getIndex(0));
}

Value ThreadGroup::isFirstGroup() {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, function.getIndex(0));
}

// The lanes of the warp that are in the group.
Value ThreadGroup::getLaneMask() {
  if (size >= kWarp)
    return getInt(-1, 32);
  Value lane = call("llvm.nvvm.read.ptx.sreg.laneid", b.getI32Type(), {});
  Value first = arith::AndIOp::create(b, lane, getInt(-size, 32));
  return arith::ShLIOp::create(b, getInt((int64_t(1) << size) - 1, 32), first);
}

void ThreadGroup::synchronizeGroups() {
  call("llvm.nvvm.barrier.cta.sync.aligned.all", Type(), {getInt(0, 32)});
}

void ThreadGroup::synchronize() {
  if (size > kWarp)
    synchronizeGroups();
  else if (size > 1)
    call("llvm.nvvm.bar.warp.sync", Type(), {getLaneMask()});
}

// The value of the thread whose number differs by `distance`, a power of two.
Value ThreadGroup::shuffle(Value value, int64_t distance) {
  Type type = value.getType();
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Value word = value;
  if (type.isIndex())
    word = arith::IndexCastOp::create(b, b.getI64Type(), value);
  else if (!type.isInteger())
    word = arith::BitcastOp::create(b, b.getIntegerType(bits), value);
  if (bits < 32)
    word = arith::ExtUIOp::create(b, b.getI32Type(), word);
  auto exchange = [&](Value half) {
    return call("llvm.nvvm.shfl.sync.bfly.i32", b.getI32Type(),
                {getLaneMask(), half, getInt(distance, 32), getInt(kWarp - 1, 32)});
  };
  if (bits <= 32) {
    word = exchange(word);
    if (bits < 32)
      word = arith::TruncIOp::create(b, b.getIntegerType(bits), word);
  } else {
    Value high = arith::ShRUIOp::create(b, word, getInt(32, 64));
    Value low =
        arith::ExtUIOp::create(b, b.getI64Type(), exchange(arith::TruncIOp::create(b, b.getI32Type(), word)));
    high =
        arith::ExtUIOp::create(b, b.getI64Type(), exchange(arith::TruncIOp::create(b, b.getI32Type(), high)));
    word = arith::OrIOp::create(b, low, arith::ShLIOp::create(b, high, getInt(32, 64)));
  }
  if (type.isIndex())
    return arith::IndexCastOp::create(b, type, word);
  return type.isInteger() ? word : arith::BitcastOp::create(b, type, word).getResult();
}

Value ThreadGroup::combine(Value value, function_ref<Value(Value, Value)> combiner) {
  for (int64_t distance = 1; distance < std::min(size, kWarp); distance *= 2)
    value = combiner(value, shuffle(value, distance));
  return size > kWarp ? combineWarps(value, combiner) : value;
}

// Where a loop runs several rows, all threads have read what warps had in the last one before these store
// again: behind a barrier of its own, if there is one sum in a row, else behind that of another one.
void ThreadGroup::awaitRowBefore() {
  Block *row = b.getInsertionBlock();
  if (!isa<scf::ForOp>(row->getParentOp()) || row == rowOfSums)
    return;
  if (rowBarrier && rowBarrier->getBlock() == row) {
    rowBarrier->erase();
    rowBarrier = nullptr;
    rowOfSums = row;
    return;
  }
  synchronize();
  rowBarrier = &*std::prev(b.getInsertionPoint());
}

// Each warp has one value.
Value ThreadGroup::combineWarps(Value value, function_ref<Value(Value, Value)> combiner) {
  int64_t warps = size / kWarp;
  Value shared = function.allocateShared(warps, value.getType());
  Value warp = arith::DivUIOp::create(b, thread, function.getIndex(kWarp));
  Value lane = arith::RemUIOp::create(b, thread, function.getIndex(kWarp));
  awaitRowBefore();
  auto first =
      scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, function.getIndex(0)));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(first.thenBlock());
    storeElement(b, value, shared, warp);
  }
  synchronize();
  Value all = loadElement(b, shared, function.getIndex(0), value.getType());
  for (int64_t other = 1; other < warps; ++other)
    all = combiner(all, loadElement(b, shared, function.getIndex(other), value.getType()));
  return all;
}

// In step d the first d groups add what the d groups behind them have.
SmallVector<Value> ThreadGroup::combineGroups(ArrayRef<Value> lanes, Value shared,
                                              function_ref<Value(Value, Value)> combiner) {
  SmallVector<Value> sums(lanes);
  if (groups == 1)
    return sums;
  auto getPlace = [&](size_t lane, int64_t distance) {
    Value offset = function.getIndex(int64_t(lane) * size * groups + distance * size);
    return arith::AddIOp::create(b, inBlock, offset);
  };
  auto store = [&](ValueRange values) {
    for (auto [lane, value] : llvm::enumerate(values))
      storeElement(b, value, shared, getPlace(lane, 0));
  };
  if (!used.insert(shared).second)
    synchronizeGroups(); // what was there has been read
  store(sums);
  for (int64_t distance = groups / 2; distance > 0; distance /= 2) {
    synchronizeGroups();
    Value takes = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, group, function.getIndex(distance));
    auto branch = scf::IfOp::create(b, ValueRange(sums).getTypes(), takes, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> more;
    for (auto [lane, sum] : llvm::enumerate(sums))
      more.push_back(combiner(sum, loadElement(b, shared, getPlace(lane, distance), sum.getType())));
    if (distance > 1)
      store(more);
    scf::YieldOp::create(b, more);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, sums);
    llvm::copy(branch.getResults(), sums.begin());
  }
  return sums;
}
