//===- ThreadedNest.cpp - Fused loop nests on the threads of a GPU ---------------===//
//
// Problem: the nests and stages of a plan must become functions that many threads run together.
//
// Method: one function for each launch (ThreadPlan.h). Of a chunk each thread computes all of its part before
// it stores any. Of a row stages hand their values on in registers; one that reads from memory what other
// threads have stored waits for them. Sums over the rows of a strip stay in registers, too, until the last
// row; then the groups of the block combine theirs in shared memory.
//
// Invariant out: no function reads, but behind a barrier, what another thread writes in it.
//
// Reference: docs/design.md, section 6, "Code for GPUs".
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ThreadedNest.h"

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

class ThreadedEmitter {
public:
  ThreadedEmitter(KernelOp kernel, FusionPlan &plan, const ThreadPhase &phase, ArrayRef<int32_t> inPlace,
                  KernelFunction &function)
      : plan(plan), phase(phase), function(function), b(function.getBuilder()),
        group(function, phase.group, phase.groups, phase.run) {
    target.threads = &group;
    target.mostLanes = phase.mostLanes;
    placeValues(kernel, plan, function, values, nullptr);
    for (auto [index, input] : llvm::enumerate(inPlace))
      if (input != -1) {
        target.sharedBuffers.insert(function.getOutput(index));
        overwritten[function.getOutput(index)] = kernel.getBody().front().getArgument(input);
      }
  }

  /// Room for what the strips of a launch add up.
  void placeSums(const ThreadPhase &rows) {
    for (const RowSum &sum : getRowSums(*rows.nest)) {
      RankedTensorType type = sum.getType();
      parts[sum.getValue()] = function.allocate(type.clone({rows.getStrips() * type.getNumElements()}));
    }
  }

  void emitScalars();
  void emitChunks();
  void emitRows();
  void emitStrips(const ThreadPhase &rows);

private:
  Value takeSlice();
  void ifFirstSlice(Value isFirst, function_ref<void()> emit);
  SmallVector<Value> emitStages(ArrayRef<std::unique_ptr<StageEmitter>> emitters, Value number,
                                ValueRange sums, Operation *rows);
  void finishSums(MutableArrayRef<std::unique_ptr<StageEmitter>> emitters, ValueRange sums);
  Value getStrip(const RowSum &sum, Value strip);
  void emitStrip(const RowSum &sum, int64_t strips, Value block);
  Value getShared(Type element, int64_t lanes);
  bool mustWait(Stage &stage);
  void note(Stage &stage);

  FusionPlan &plan;
  const ThreadPhase &phase;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  ThreadGroup group;
  KernelValues values;
  NestTarget target;
  RowValues row;
  Value firstRow;                           // of a slice
  DenseMap<Value, Value> parts;             // of the strips, by the result that they are of
  DenseMap<Type, Value> shared;             // memory of a block
  DenseMap<Value, Value> overwritten;       // by the results that share storage: the inputs
  SmallVector<RowElements> written, loaded; // since the group's threads have waited for each other
};

} // namespace

void ThreadedEmitter::ifFirstSlice(Value isFirst, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(b);
  Value isSlice =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, function.getBegin(), function.getIndex(0));
  auto branch = scf::IfOp::create(b, arith::AndIOp::create(b, isSlice, isFirst));
  b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

// Every slice would store the same; the first thread does.
void ThreadedEmitter::emitScalars() {
  if (plan.scalars.empty())
    return;
  NestTarget alone;
  ifFirstSlice(group.isFirst(), [&] {
    for (Stage &stage : plan.scalars)
      StageEmitter(stage, function, values, alone).emitRow(Value(), nullptr);
  });
}

// A slice is a chunk of the one nest. Of several each has its range of the chunks.
void ThreadedEmitter::emitChunks() {
  if (plan.nests.size() == 1)
    return StageEmitter(plan.nests[0].stages[0], function, values, target)
        .emitRange(function.getBegin(), function.getEnd());
  int64_t size = phase.group * phase.mostLanes, first = 0;
  for (Nest &nest : plan.nests) {
    Stage &stage = nest.stages[0];
    int64_t volume = stage.getVolume(), count = llvm::divideCeil(volume, size);
    OpBuilder::InsertionGuard guard(b);
    Value chunk = arith::SubIOp::create(b, function.getBegin(), function.getIndex(first));
    auto inRange = scf::IfOp::create(
        b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, chunk, function.getIndex(count)));
    b.setInsertionPointToStart(inRange.thenBlock());
    Value low = arith::MulIOp::create(b, chunk, function.getIndex(size));
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, function.getIndex(size)),
                                        function.getIndex(volume));
    StageEmitter(stage, function, values, target).emitRange(low, high);
    first += count;
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

// The rows of a slice, and its columns. Gives the end of the rows.
Value ThreadedEmitter::takeSlice() {
  firstRow = function.getBegin();
  if (phase.columns == 0)
    return function.getEnd();
  Value rows = function.getIndex(llvm::alignTo(phase.nest->rows, phase.slice));
  Value part = arith::DivUIOp::create(b, function.getBegin(), rows);
  firstRow = arith::RemUIOp::create(b, function.getBegin(), rows);
  target.columns = phase.columns;
  target.firstColumn = arith::MulIOp::create(b, part, function.getIndex(phase.columns));
  return arith::MinSIOp::create(b, arith::AddIOp::create(b, firstRow, function.getIndex(phase.slice)),
                                function.getIndex(phase.nest->rows));
}

void ThreadedEmitter::emitRows() {
  Nest &nest = *phase.nest;
  target.row = &row;
  if (!nest.prologue.empty())
    ifFirstSlice(group.isFirstGroup(), [&] {
      NestTarget once = target;
      once.row = nullptr;
      for (Stage &stage : nest.prologue)
        StageEmitter(stage, function, values, once).emitRow(Value(), nullptr);
    });
  Value lastRow = takeSlice();
  SmallVector<std::unique_ptr<StageEmitter>> emitters;
  SmallVector<Value> begin;
  for (Stage &stage : nest.stages) {
    emitters.push_back(std::make_unique<StageEmitter>(stage, function, values, target));
    emitters.back()->sums = emitters.back()->beginSums();
    llvm::append_range(begin, emitters.back()->sums);
  }
  if (phase.slice == 1 && begin.empty()) {
    emitStages(emitters, firstRow, {}, nullptr);
    return;
  }
  Value first = arith::AddIOp::create(b, firstRow, group.getGroup());
  auto rows = scf::ForOp::create(b, first, lastRow, function.getIndex(phase.groups), begin);
  target.rowsLoop = rows;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    SmallVector<Value> next = emitStages(emitters, rows.getInductionVar(), rows.getRegionIterArgs(), rows);
    if (!next.empty())
      scf::YieldOp::create(b, next);
  }
  finishSums(emitters, rows.getResults());
}

// A row. Gives the sums over rows behind it.
SmallVector<Value> ThreadedEmitter::emitStages(ArrayRef<std::unique_ptr<StageEmitter>> emitters, Value number,
                                               ValueRange sums, Operation *rows) {
  SmallVector<Value> next;
  for (auto [stage, emitter] : llvm::zip_equal(phase.nest->stages, emitters)) {
    if (mustWait(stage)) {
      group.synchronize();
      written.clear();
      loaded.clear();
    }
    size_t count = emitter->sums.size();
    emitter->sums = llvm::to_vector(sums.take_front(count));
    sums = sums.drop_front(count);
    emitter->emitRow(number, rows);
    llvm::append_range(next, emitter->sums);
    note(stage);
  }
  return next;
}

// The memory of a strip's part of a sum.
Value ThreadedEmitter::getStrip(const RowSum &sum, Value strip) {
  int64_t elements = sum.getType().getNumElements();
  OpFoldResult first = arith::MulIOp::create(b, strip, function.getIndex(elements)).getResult();
  return memref::SubViewOp::create(b, parts.lookup(sum.getValue()), first,
                                   OpFoldResult(b.getIndexAttr(elements)), OpFoldResult(b.getIndexAttr(1)));
}

Value ThreadedEmitter::getShared(Type element, int64_t lanes) {
  Value &memory = shared[element];
  if (!memory)
    memory = function.allocateShared(lanes * phase.getThreads(), element);
  return memory;
}

void ThreadedEmitter::finishSums(MutableArrayRef<std::unique_ptr<StageEmitter>> emitters, ValueRange sums) {
  if (sums.empty())
    return;
  bool isWhole = phase.isWhole();
  int64_t lanes = 1;
  for (auto type : sums.getTypes())
    if (auto vector = dyn_cast<VectorType>(type))
      lanes = std::max(lanes, vector.getNumElements());
  if (isWhole)
    group.synchronizeGroups(); // what the sums begin with has been stored
  Value strip = arith::DivUIOp::create(b, firstRow, function.getIndex(phase.slice));
  for (auto [sum, value] : llvm::zip_equal(getRowSums(*phase.nest), sums)) {
    size_t stage = sum.stage - phase.nest->stages.data();
    Type element = sum.getType().getElementType();
    Value memory = phase.groups > 1 ? getShared(element, lanes) : Value();
    Value buffer = isWhole ? values.buffers.lookup(sum.getValue()) : getStrip(sum, strip);
    emitters[stage]->finishSum(*sum.root, sum.result, value, memory, buffer, /*adds=*/isWhole);
  }
}

//===----------------------------------------------------------------------===//
// Strips
//===----------------------------------------------------------------------===//

// Each sum has its range of the blocks.
void ThreadedEmitter::emitStrips(const ThreadPhase &rows) {
  int64_t first = 0;
  for (const RowSum &sum : getRowSums(*phase.nest)) {
    int64_t elements = sum.getType().getNumElements();
    int64_t count = llvm::divideCeil(elements, getStripElements(elements));
    OpBuilder::InsertionGuard guard(b);
    Value local = arith::SubIOp::create(b, function.getBegin(), function.getIndex(first));
    auto inRange = scf::IfOp::create(
        b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, local, function.getIndex(count)));
    b.setInsertionPointToStart(inRange.thenBlock());
    emitStrip(sum, rows.getStrips(), local);
    first += count;
  }
}

// Threads that differ in the element are a group, as it were: each of a block's groups adds up some of the
// strips.
void ThreadedEmitter::emitStrip(const RowSum &sum, int64_t strips, Value block) {
  Type element = sum.getType().getElementType();
  Operation *combiner = sum.getCombiner();
  auto combine = [&](Value lhs, Value rhs) { return applyCombiner(b, combiner, lhs, rhs); };
  int64_t elements = sum.getType().getNumElements(), together = getStripElements(elements);
  ThreadGroup threads(function, together, kStripThreads / together, 1);
  Value position = arith::MulIOp::create(b, block, function.getIndex(together));
  position = arith::AddIOp::create(b, position, threads.getThread());
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, function.getIndex(elements));
  Value at = arith::SelectOp::create(b, isThere, position, function.getIndex(0));
  Value identity = arith::ConstantOp::create(b, *arith::getNeutralElement(combiner));
  auto loop = scf::ForOp::create(b, threads.getGroup(), function.getIndex(strips),
                                 function.getIndex(kStripThreads / together), identity);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value first = arith::MulIOp::create(b, loop.getInductionVar(), function.getIndex(elements));
    Value part = loadElement(b, parts.lookup(sum.getValue()), arith::AddIOp::create(b, first, at), element);
    scf::YieldOp::create(b, combine(loop.getRegionIterArg(0), part));
  }
  Value all = threads.combineGroups({loop.getResult(0)}, getShared(element, 1), combine)[0];
  auto last = scf::IfOp::create(b, arith::AndIOp::create(b, threads.isFirstGroup(), isThere));
  b.setInsertionPointToStart(last.thenBlock());
  Value buffer = values.buffers.lookup(sum.getValue());
  storeElement(b, combine(loadElement(b, buffer, at, element), all), buffer, at);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

template <typename Visit> static void forEachLoad(Stage &stage, Visit visit) {
  for (Element &node : stage.expressions->getNodes())
    if (node.kind == Element::Kind::load)
      visit(RowElements(node.tensor, node.access, stage));
}

template <typename Visit> static void forEachStore(Stage &stage, Visit visit) {
  for (Root &root : stage.roots)
    for (auto [value, access] : llvm::zip_equal(root.values, root.stores))
      visit(RowElements(value, access, stage));
}

// Whether payloads of the stage choose elements of such a tensor themselves.
static bool gathersFrom(Stage &stage, function_ref<bool(Value)> isOf) {
  auto gathers = [&](Operation *op) {
    return op && op->walk([&](tensor::ExtractOp extract) {
                     return isOf(extract.getTensor()) ? WalkResult::interrupt() : WalkResult::advance();
                   }).wasInterrupted();
  };
  return llvm::any_of(stage.expressions->getNodes(), [&](Element &node) { return gathers(node.op); }) ||
         llvm::any_of(stage.roots, [&](Root &root) { return gathers(root.reduction); });
}

// Whether the stage reads from memory, or overwrites, what another thread may have stored since the last
// barrier, or overwrites what another one may have yet to read. What a thread has stored itself along the row
// it finds in registers, or in memory.
bool ThreadedEmitter::mustWait(Stage &stage) {
  auto isOthers = [](const RowElements &stored, const RowElements &elements) {
    return stored.tensor == elements.tensor && (stored != elements || elements.inner.empty());
  };
  bool waits = gathersFrom(stage, [&](Value tensor) {
    return llvm::any_of(written, [&](RowElements &stored) { return stored.tensor == tensor; });
  });
  forEachLoad(stage, [&](const RowElements &elements) {
    waits |= !row.find(elements) &&
             llvm::any_of(written, [&](RowElements &stored) { return isOthers(stored, elements); });
  });
  forEachStore(stage, [&](const RowElements &elements) {
    waits |= llvm::any_of(written, [&](RowElements &stored) { return isOthers(stored, elements); });
    RowElements input = elements;
    input.tensor = overwritten.lookup(values.buffers.lookup(elements.tensor));
    waits |=
        llvm::any_of(loaded, [&](RowElements &read) { return read.tensor == input.tensor && read != input; });
  });
  return waits;
}

void ThreadedEmitter::note(Stage &stage) {
  forEachLoad(stage, [&](const RowElements &elements) { loaded.push_back(elements); });
  for (Root &root : stage.roots)
    if (!root.isAccumulating())
      for (auto [value, access] : llvm::zip_equal(root.values, root.stores))
        written.emplace_back(value, access, stage);
}

void mlir::epl::emitThreadedNests(KernelOp kernel, FusionPlan &plan, ArrayRef<ThreadPhase> phases,
                                  ArrayRef<int32_t> inPlace, ArrayRef<KernelFunction *> functions) {
  for (auto [index, phase] : llvm::enumerate(phases)) {
    ThreadedEmitter emitter(kernel, plan, phase, inPlace, *functions[index]);
    for (const ThreadPhase &rows : phases)
      if (rows.kind == ThreadPhase::Kind::rows && !rows.isWhole())
        emitter.placeSums(rows);
    if (index == 0)
      emitter.emitScalars();
    if (phase.kind == ThreadPhase::Kind::chunks)
      emitter.emitChunks();
    else if (phase.kind == ThreadPhase::Kind::rows)
      emitter.emitRows();
    else
      emitter.emitStrips(phases[index - 1]);
  }
}
