//===- StageThreads.cpp - The innermost loop of a stage on threads ---------------===//
//
// Problem: the threads of a GPU that share a row, or a chunk of elements, must each have their part of it, in
// accesses of 16 bytes that lie together.
//
// Method: a thread takes runs of a few elements (ThreadGroup.h). A row that fits is one step without a loop:
// what a stage has loaded or computed is there in registers when the next one wants it. Where a row ends
// within a step, threads whose run is not there compute what is at the step's first element, and neither add
// nor store it.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/StageEmitter.h"

#include "dialect/Bytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Lanes of a step of a row that is longer than registers.
static constexpr int64_t kLanesOfLoop = 16;

// Makes the step one of `count` runs of `run` elements for each thread, of which those that begin within
// `left` elements from `base` on are there: `least` at least, which is all that there are if `left` is null.
void StageEmitter::takeRuns(Value base, int64_t run, int64_t count, int64_t least, Value left) {
  int64_t apart = target.threads->getSize() * run;
  runs.clear();
  lanes = count * run;
  Value first = arith::MulIOp::create(b, target.threads->getThread(), function.getIndex(run));
  for (int64_t number = 0; number < count; ++number) {
    Value distance = arith::AddIOp::create(b, first, function.getIndex(number * apart));
    Run taken{arith::AddIOp::create(b, base, distance), Value()};
    if ((number + 1) * apart > least) {
      Value end = left ? left : function.getIndex(least);
      taken.present = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, distance, end);
      taken.start = arith::SelectOp::create(b, taken.present, taken.start, base);
    }
    runs.push_back(taken);
  }
  ivs.back() = runs[0].start;
  bool isWhole = llvm::all_of(runs, [](const Run &run) { return !run.present; });
  mask = isWhole ? Value() : concatenate(b.getI1Type(), [&](size_t run) -> Value {
    Value present = runs[run].present;
    if (lanes == 1)
      return present;
    VectorType type = VectorType::get({getRunLanes()}, b.getI1Type());
    return present ? vector::BroadcastOp::create(b, type, present).getResult()
                   : getConstant(DenseElementsAttr::get(type, true));
  });
}

// The vector of all lanes from those of each run.
Value StageEmitter::concatenate(Type element, function_ref<Value(size_t run)> emitRun) {
  if (runs.size() <= 1)
    return emitRun(0);
  Value all = getConstant(b.getZeroAttr(getVectorType(element)));
  for (size_t run = 0; run < runs.size(); ++run)
    all =
        vector::InsertStridedSliceOp::create(b, emitRun(run), all, int64_t(run) * getRunLanes(), int64_t(1));
  return all;
}

void StageEmitter::ifPresent(Value present, function_ref<void()> emit) {
  if (!present)
    return emit();
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, present);
  b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

// The elements of a run that a thread does not have are another thread's, which may be about to overwrite
// them.
Value StageEmitter::loadIfPresent(Type type, size_t run, function_ref<Value()> emit) {
  Value present = run < runs.size() ? runs[run].present : Value();
  if (!present || target.sharedBuffers.empty())
    return emit();
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, type, present, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, emit());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, getConstant(b.getZeroAttr(type)));
  return branch.getResult(0);
}

void StageEmitter::storeRuns(Value value, Value buffer, const StridedAccess &access, int64_t alignment) {
  int64_t stride = access.strides.back();
  for (size_t run = 0; run < runs.size(); ++run)
    ifPresent(runs[run].present, [&] {
      Value index = getIndex(access, run);
      int64_t first[] = {int64_t(run) * getRunLanes()}, size[] = {getRunLanes()}, step[] = {1};
      Value piece = vector::ExtractStridedSliceOp::create(b, value, first, size, step);
      if (stride == 1)
        return storeVector(b, piece, buffer, index, Value(), alignment);
      for (int64_t lane = 0; lane < getRunLanes(); ++lane)
        memref::StoreOp::create(
            b, vector::ExtractOp::create(b, piece, lane), buffer,
            arith::AddIOp::create(b, index, function.getIndex(lane * stride)).getResult());
    });
}

// Of runs that begin at multiples of a run and of `offsets`; 0 if that is no more than an element's.
int64_t StageEmitter::getAlignment(Value buffer, ArrayRef<int64_t> offsets) const {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t lanesOfRun = getRunLanes(), bytes = lanesOfRun * getElementBytes(type.getElementType());
  bool isWhole = llvm::all_of(offsets, [&](int64_t offset) { return offset % lanesOfRun == 0; });
  // Operands begin at multiples of what divides their size (Kernel in runtime/plan/format/plan.fbs).
  int64_t size = type.getNumElements() * getElementBytes(type.getElementType());
  return target.threads && isWhole && size % bytes == 0 ? bytes : 0;
}

int64_t StageEmitter::getAlignmentAt(Value buffer, const StridedAccess &access) const {
  SmallVector<int64_t> offsets(ArrayRef(access.strides).drop_back());
  offsets.push_back(access.offset);
  return getAlignment(buffer, offsets);
}

bool StageEmitter::keeps(const StridedAccess &access) const {
  bool inLoop =
      stage.domain.size() > stage.rowRank + 1 || (isLooping && getVariation(access) == Varies::lane);
  return target.row && !inLoop;
}

static SmallVector<Value> getLanes(ImplicitLocOpBuilder &b, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return {value};
  SmallVector<Value> all;
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane)
    all.push_back(vector::ExtractOp::create(b, value, lane));
  return all;
}

// Combines the lanes of a thread, in pairs, then the threads.
Value StageEmitter::combineThreads(Operation *combiner, Value value) {
  SmallVector<Value> pieces = getLanes(b, value);
  auto combineTwo = [&](Value lhs, Value rhs) { return combine(combiner, lhs, rhs); };
  while (pieces.size() > 1) {
    SmallVector<Value> halves;
    for (size_t i = 0; i < pieces.size(); i += 2)
      halves.push_back(i + 1 < pieces.size() ? combineTwo(pieces[i], pieces[i + 1]) : pieces[i]);
    pieces = halves;
  }
  return target.threads->combine(pieces[0], combineTwo);
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

bool StageEmitter::isRowSum(const Root &root) const {
  return target.row && stage.rowRank > 0 && root.isAccumulating();
}

size_t StageEmitter::getSumIndex(const Root &root) const {
  size_t index = 0;
  for (const Root &other : stage.roots) {
    if (&other == &root)
      break;
    index += isRowSum(other) ? other.values.size() : 0;
  }
  return index;
}

SmallVector<Value> StageEmitter::beginSums() {
  if (hasLanes())
    takeRow();
  SmallVector<Value> begin;
  for (Root &root : stage.roots)
    for (unsigned result = 0; isRowSum(root) && result < root.values.size(); ++result)
      begin.push_back(getIdentity({&root, result, matchCombiner(root.reduction, result), /*isNan=*/false}));
  return begin;
}

void StageEmitter::addToSums(Root &root, ArrayRef<Value> terms) {
  size_t first = getSumIndex(root);
  for (auto [result, term] : llvm::enumerate(terms))
    sums[first + result] =
        accumulate({&root, unsigned(result), matchCombiner(root.reduction, result), /*isNan=*/false},
                   sums[first + result], term);
}

void StageEmitter::finishSum(Root &root, unsigned result, Value sum, Value shared, Value buffer, bool adds) {
  b.setLoc(root.reduction.getLoc());
  Operation *combiner = matchCombiner(root.reduction, result);
  auto combineTwo = [&](Value lhs, Value rhs) { return combine(combiner, lhs, rhs); };
  if (hasLanes() && root.reduced.back())
    sum = combineThreads(combiner, sum);
  SmallVector<Value> lanesOfSum = target.threads->combineGroups(getLanes(b, sum), shared, combineTwo);
  ifPresent(target.threads->isFirstGroup(),
            [&] { updateLanes(lanesOfSum, buffer, root.stores[result], adds ? combiner : nullptr); });
}

// Stores the lanes of a thread, or combines them with what is there.
void StageEmitter::updateLanes(ArrayRef<Value> values, Value buffer, const StridedAccess &access,
                               Operation *combiner) {
  bool isForAll = hasLanes() && access.strides.back() != 0; // of threads
  auto update = [&](Value value, Value index) {
    if (combiner)
      value = combine(combiner, loadElement(b, buffer, index, value.getType()), value);
    storeElement(b, value, buffer, index);
  };
  if (!isForAll)
    return ifPresent(target.threads->isFirst(), [&] { update(values[0], getIndex(access)); });
  bool isStoredAsIs = values[0].getType() == getElementTypeOrSelf(buffer);
  if (!combiner && values.size() > 1 && isStoredAsIs) {
    lanes = int64_t(values.size());
    Value vector = vector::FromElementsOp::create(b, getVectorType(values[0].getType()), values);
    return storeRuns(vector, buffer, access, getAlignmentAt(buffer, access));
  }
  int64_t perRun = int64_t(values.size()) / int64_t(runs.size());
  for (size_t run = 0; run < runs.size(); ++run)
    ifPresent(runs[run].present, [&] {
      Value first = getIndex(access, run);
      for (int64_t lane = 0; lane < perRun; ++lane)
        update(values[run * perRun + lane],
               arith::AddIOp::create(b, first, function.getIndex(lane * access.strides.back())));
    });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

// The one step that a thread has of a row.
void StageEmitter::takeRow() {
  OpBuilder::InsertionGuard guard(b);
  if (target.rowsLoop)
    b.setInsertionPoint(target.rowsLoop);
  int64_t size = stage.domain.back(), run = getRunOf(size, target.threads->getRun());
  int64_t apart = target.threads->getSize() * run;
  if (target.columns == 0)
    return takeRuns(function.getIndex(0), run, llvm::divideCeil(size, apart), size);
  int64_t last = size % target.columns; // columns of the last slices
  Value left = arith::SubIOp::create(b, function.getIndex(size), target.firstColumn);
  takeRuns(target.firstColumn, run, target.columns / apart, last == 0 ? target.columns : last,
           last == 0 ? Value() : left);
}

// The whole innermost dimension.
void StageEmitter::emitInThreads() {
  int64_t size = stage.domain.back(), run = getRunOf(size, target.threads->getRun());
  int64_t apart = target.threads->getSize() * run, count = llvm::divideCeil(size, apart);
  isLooping = count * run > target.mostLanes && target.columns == 0;
  if (!isLooping) {
    takeRow();
    SmallVector<Value> accumulated = emitBody(getIdentities());
    mask = Value();
    return finishReductions(accumulated);
  }
  count = std::max<int64_t>(std::min(target.mostLanes, kLanesOfLoop) / run, 1);
  int64_t whole = size / (apart * count) * (apart * count);
  lanes = count * run;
  runs.resize(count);
  SmallVector<Value> accumulated = emitLoop(function.getIndex(0), function.getIndex(whole), getIdentities());
  if (whole < size) {
    takeRuns(function.getIndex(whole), run, count, size - whole);
    accumulated = emitBody(accumulated);
    mask = Value();
  }
  finishReductions(accumulated);
}

// A part of the innermost dimension: in one step if it has all of its elements, else one by one.
void StageEmitter::emitInThreads(Value low, Value high) {
  int64_t run = getRunOf(stage.domain.back(), target.threads->getRun()), size = target.threads->getSize();
  int64_t count = std::max<int64_t>(target.mostLanes / run, 1), chunk = size * run * count;
  Value length = arith::SubIOp::create(b, high, low);
  Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, length, function.getIndex(chunk));
  auto branch = scf::IfOp::create(b, isWhole, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  rowPoint = branch;
  kernelPoint = kernelPoint ? kernelPoint : branch;
  takeRuns(low, run, count, chunk);
  emitBody({});
  b.setInsertionPointToStart(branch.elseBlock());
  auto loop = scf::ForOp::create(b, arith::AddIOp::create(b, low, target.threads->getThread()), high,
                                 function.getIndex(size));
  b.setInsertionPointToStart(loop.getBody());
  lanes = 1;
  runs = {{loop.getInductionVar(), Value()}};
  ivs.back() = loop.getInductionVar();
  emitBody({});
}
