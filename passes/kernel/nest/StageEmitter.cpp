//===- StageEmitter.cpp - The loops of one stage ---------------------------------===//
//
// Problem: one loop nest must compute several roots over one domain at the speed of the machine's vectors.
//
// Method: the innermost loop takes `lanes` elements at a time; what is left of a row follows in pieces of one
// register, the last one masked. Several registers a step give independent chains for reductions. All values
// of a step are computed before the first is stored, so a result may overwrite an operand it shares its
// elements with. Sums over the rows of columns stay in memory: a pass over the columns adds several rows to
// them, in order, so that they are loaded and stored once for all of them. Long sums add block by block.
//
// Reference: docs/design.md, section 6.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace mlir::epl;

// Registers that one step of the innermost loop fills.
static constexpr int64_t kRegisters = 4;
// Beyond this many ops more than one register a step costs compile time and gains nothing.
static constexpr int64_t kLargeStage = 100;
// Rows of fewer steps are short.
static constexpr int64_t kStepsOfShortRow = 4;
// Elements of tensors that the second-level cache does not hold.
static constexpr int64_t kBeyondCaches = 1 << 21;

//===----------------------------------------------------------------------===//
// Shape of the loops
//===----------------------------------------------------------------------===//

StageEmitter::StageEmitter(Stage &stage, KernelFunction &function, KernelValues &values,
                           const NestTarget &target)
    : stage(stage), function(function), b(function.getBuilder()), values(values), target(target) {
  ivs.resize(stage.domain.size());
  collectAccumulators();
  chooseLanes(target.vectorBits);
  if (!target.threads)
    choosePasses();
}

int64_t mlir::epl::countOps(Stage &stage) {
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
  if (!hasLanes() || vectorBits == 0)
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

// Whether `root` adds each row of a pass to the same sums.
bool StageEmitter::addsInPasses(const Root &root) const {
  return passDim && root.reduction && root.reduced[*passDim];
}

// Whether the code of a step may be there once for each row of a pass.
bool StageEmitter::fitsPass() const {
  return accumulators.empty() && countOps(stage) * kRowsPerPass <= kLargeStage;
}

// Whether sums of a row are loaded before they have left the store buffer.
bool StageEmitter::hasShortRows() const { return stage.domain.back() < kStepsOfShortRow * fullLanes; }

void StageEmitter::choosePasses() {
  if (stage.domain.size() < stage.rowRank + 2)
    return;
  passDim = stage.domain.size() - 2;
  bool adds = llvm::any_of(stage.roots, [&](Root &root) { return addsInPasses(root); });
  // Stores to several rows at once are slower where the second-level cache holds them.
  bool stores = llvm::any_of(stage.roots, [](Root &root) { return !root.reduction; });
  bool gains = hasShortRows() || !stores || stage.getVolume() >= kBeyondCaches;
  inPasses = adds && gains && fitsPass();
}

// Long rows are still in the first-level cache when the stages before have just used them.
bool StageEmitter::addsRows() const {
  return stage.rowRank == 1 && hasLanes() && hasShortRows() && !loopsPasses() && fitsPass() &&
         llvm::any_of(stage.roots, [](Root &root) { return root.isAccumulating(); });
}

// The loops outside the innermost one, or outside the passes.
void StageEmitter::openLoops(Value row) {
  ArrayRef<int64_t> rowSizes = ArrayRef(stage.domain).take_front(stage.rowRank);
  Value rest = row;
  for (int64_t dim = int64_t(stage.rowRank) - 1; dim >= 0; --dim) {
    Value size = function.getIndex(rowSizes[dim]);
    ivs[dim] = dim == 0 ? rest : arith::RemUIOp::create(b, rest, size).getResult();
    if (dim > 0)
      rest = arith::DivUIOp::create(b, rest, size);
  }
  for (size_t dim = stage.rowRank; dim + (loopsPasses() ? 2 : 1) < stage.domain.size(); ++dim) {
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
  emitPasses([&](StageEmitter &other) { other.emitRow(row, nullptr); }, [&] { emitInnermost(); });
}

void StageEmitter::emitRange(Value low, Value high) {
  OpBuilder::InsertionGuard guard(b);
  openLoops(Value());
  emitPasses([&](StageEmitter &other) { other.emitRange(low, high); }, [&] { emitInnermost(low, high); });
}

void StageEmitter::emitRows(ArrayRef<Value> rows, Operation *point) {
  passDim = 0;
  passRows = llvm::to_vector(rows);
  emitRow(rows.front(), point);
}

void StageEmitter::emitPasses(function_ref<void(StageEmitter &)> emitStage, function_ref<void()> innermost) {
  if (!loopsPasses())
    return innermost();
  auto emitOther = [&](Stage &other) {
    StageEmitter emitter(other, function, values, target);
    emitStage(emitter);
  };
  SummedRows summed{stage.domain[*passDim], stage.blocks, emitOther};
  emitInPasses(function, summed, inPasses ? kRowsPerPass : 1, [&](ArrayRef<Value> rows, Operation *loop) {
    kernelPoint = kernelPoint ? kernelPoint : loop;
    passRows = llvm::to_vector(rows);
    known[size_t(Varies::row)].clear();
    innermost();
  });
}

// Errors of rows within a block even out among blocks, so that their square is as B^2 / R for R rows in
// blocks of B, that of the blocks as R / B.
static int64_t getRowsPerBlock(int64_t rows) {
  double best = std::cbrt(0.5 * double(rows) * double(rows));
  return int64_t(std::bit_ceil(uint64_t(best)));
}

void mlir::epl::emitInBlocks(KernelFunction &function, const SummedRows &rows,
                             function_ref<void(Value low, Value high, Operation *loop)> emit) {
  ImplicitLocOpBuilder &b = function.getBuilder();
  OpBuilder::InsertionGuard guard(b);
  Value size = function.getIndex(rows.size);
  if (rows.blocks.add.empty())
    return emit(function.getIndex(0), size, nullptr);
  Value step = function.getIndex(getRowsPerBlock(rows.size));
  auto loop = scf::ForOp::create(b, function.getIndex(0), size, step);
  b.setInsertionPointToStart(loop.getBody());
  Value low = loop.getInductionVar();
  Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, step), size);
  llvm::for_each(rows.blocks.clear, rows.emitStage);
  emit(low, high, loop);
  llvm::for_each(rows.blocks.add, rows.emitStage);
}

void mlir::epl::emitInPasses(KernelFunction &function, const SummedRows &rows, int64_t perPass,
                             function_ref<void(ArrayRef<Value> rows, Operation *loop)> emit) {
  ImplicitLocOpBuilder &b = function.getBuilder();
  auto emitPass = [&](Value first, int64_t count, Operation *loop) {
    SmallVector<Value> rows = {first};
    for (int64_t row = 1; row < count; ++row)
      rows.push_back(arith::AddIOp::create(b, first, function.getIndex(row)));
    OpBuilder::InsertionGuard guard(b);
    emit(rows, loop);
  };
  int64_t left = rows.size % perPass, whole = rows.size - left;
  if (whole > 0)
    emitInBlocks(function, {whole, rows.blocks, rows.emitStage},
                 [&](Value low, Value high, Operation *blocks) {
                   OpBuilder::InsertionGuard guard(b);
                   auto loop = scf::ForOp::create(b, low, high, function.getIndex(perPass));
                   b.setInsertionPointToStart(loop.getBody());
                   emitPass(loop.getInductionVar(), perPass, blocks ? blocks : loop.getOperation());
                 });
  if (left == 0)
    return;
  llvm::for_each(rows.blocks.clear, rows.emitStage);
  emitPass(function.getIndex(whole), left, nullptr);
  llvm::for_each(rows.blocks.add, rows.emitStage);
}

// The whole innermost dimension: whole vectors, then pieces of one register.
void StageEmitter::emitInnermost() {
  if (!hasLanes()) {
    emitBody({});
    return;
  }
  if (target.threads)
    return emitInThreads();
  int64_t size = stage.domain.back(), whole = size / fullLanes * fullLanes;
  lanes = whole ? fullLanes : tailLanes;
  SmallVector<Value> accumulated = getIdentities();
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
  if (target.threads)
    return emitInThreads(low, high);
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
  int64_t step = lanes * (target.threads ? target.threads->getSize() : 1);
  auto loop = scf::ForOp::create(b, low, high, function.getIndex(step), accumulated);
  rowPoint = loop;
  kernelPoint = kernelPoint ? kernelPoint : loop;
  b.setInsertionPointToStart(loop.getBody());
  ivs.back() = loop.getInductionVar();
  if (target.threads)
    takeRuns(loop.getInductionVar(), getRunLanes(), int64_t(runs.size()), step);
  SmallVector<Value> next = emitBody(llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
  if (!next.empty())
    scf::YieldOp::create(b, next);
  rowPoint = nullptr;
  return llvm::to_vector_of<Value>(loop.getResults());
}

// One step of the innermost loop. Sums stay in registers until all rows of the pass are added.
SmallVector<Value> StageEmitter::emitBody(ArrayRef<Value> accumulated) {
  known[size_t(Varies::lane)].clear();
  Sums inMemory;
  SmallVector<Value> next;
  for (rowOfPass = 0; rowOfPass < std::max<size_t>(passRows.size(), 1); ++rowOfPass) {
    if (!passRows.empty())
      ivs[*passDim] = passRows[rowOfPass];
    next = emitStep(accumulated, inMemory);
  }
  for (Root &root : stage.roots)
    for (auto [index, sum] : llvm::enumerate(inMemory.lookup(&root)))
      store(sum, root.values[index], root.stores[index]);
  return next;
}

// One row of a step: values first, then accumulators and stores.
SmallVector<Value> StageEmitter::emitStep(ArrayRef<Value> accumulated, Sums &inMemory) {
  SmallVector<std::tuple<Value, Value, StridedAccess *>> stores;
  SmallVector<Value> next;
  for (Root &root : stage.roots) {
    if (!root.reduction) {
      stores.emplace_back(evaluate(root.nodes[0]), root.values[0], &root.stores[0]);
      continue;
    }
    if (isRowSum(root)) {
      SmallVector<Value> terms;
      evaluateTerms(root, terms, {});
      addToSums(root, terms);
      continue;
    }
    bool inRegisters = llvm::any_of(accumulators, [&](Accumulator &a) { return a.root == &root; });
    SmallVector<Value> old = inMemory.lookup(&root), terms;
    if (!inRegisters && old.empty())
      for (auto [value, access] : llvm::zip_equal(root.values, root.stores))
        old.push_back(load(value, access, /*varies=*/hasLanes()));
    evaluateTerms(root, terms, old);
    if (!inRegisters && addsInPasses(root))
      inMemory[&root] = terms;
    else if (!inRegisters)
      for (auto [term, value, access] : llvm::zip_equal(terms, root.values, root.stores))
        stores.emplace_back(term, value, &access);
    for (Accumulator &accumulator : accumulators)
      if (accumulator.root == &root)
        next.push_back(accumulate(accumulator, accumulated[next.size()], terms[accumulator.result]));
  }
  for (auto [value, tensor, access] : stores)
    store(value, tensor, *access);
  return next;
}
