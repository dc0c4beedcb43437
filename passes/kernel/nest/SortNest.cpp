//===- SortNest.cpp - The loops of a kernel that sorts ---------------------------===//
//
// Problem: rows to sort lie strided in memory, come with indices that nothing stores, and often only the
// first few of their order are asked for.
//
// Method: a row is computed into the workspace, element by element, sorted there and written to where it
// belongs. If few of many are asked for, the workspace holds twice as many: a scan of the row collects what
// comes before the last one of the best so far, and when the workspace is full, a sort keeps the best. That
// is one comparison for most elements, and for every row less than a sort of all.
// A slice is a block of rows with a workspace of its own.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/SortNest.h"

#include "passes/kernel/nest/ElementEmitter.h"
#include "passes/kernel/nest/RowSorter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

// Slices of a launch, at most: each takes workspace.
static constexpr int64_t kMaxSlices = 8;
// Elements that the workspace of a scan has room for beyond the best ones, at least.
static constexpr int64_t kMinRoom = 16;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

// Whether an op takes a scalar out of a tensor, which may be computed itself.
static bool extractsScalar(Operation &op) {
  return llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>) &&
         llvm::any_of(op.getOperandTypes(), llvm::IsaPred<TensorType>);
}

// The one sort of a kernel whose results are all that the kernel yields, or null.
static SortOp findSort(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto sorts = body.getOps<SortOp>();
  if (!llvm::hasSingleElement(sorts) || llvm::any_of(body.without_terminator(), extractsScalar))
    return {};
  SortOp sort = *sorts.begin();
  bool isAll = llvm::all_of(body.getTerminator()->getOperands(), [&](Value yielded) {
    return stripViews(yielded).getDefiningOp() == sort.getOperation();
  });
  return isAll ? sort : SortOp();
}

std::optional<SortPlan> mlir::epl::matchSort(KernelOp kernel) {
  SortOp sort = findSort(kernel);
  if (!sort || llvm::is_contained(sort.getShape(), 0) || sort.getLimit() == 0)
    return std::nullopt;
  SortPlan plan;
  plan.sort = sort;
  for (Value value : kernel.getBody().front().getTerminator()->getOperands())
    plan.yielded.push_back(cast<OpResult>(stripViews(value)).getResultNumber());
  plan.domain.assign(sort.getShape());
  llvm::erase(plan.domain, 1);
  plan.stored = std::make_unique<DenseSet<Value>>();
  plan.expressions = std::make_unique<Expressions>(plan.domain, *plan.stored);
  for (Value operand : sort.getOperands()) {
    auto element = plan.expressions->trace(operand, StridedAccess::identity(plan.domain));
    if (failed(element))
      return std::nullopt;
    plan.elements.push_back(*element);
  }
  int64_t size = std::accumulate(plan.domain.begin(), plan.domain.end(), int64_t(1), std::multiplies<>());
  plan.rows = size / sort.getShape()[sort.getDim()];
  plan.extent = std::min(plan.rows, kMaxSlices);
  return plan;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

class SortEmitter {
public:
  SortEmitter(KernelOp kernel, const SortPlan &plan, KernelFunction &function);
  void emit();

private:
  void openRow(Value row);
  void sortRow();
  void selectFirst();
  void fill(int64_t size);
  /// The elements of all operands at `position` of the row, null for those that are not asked for.
  SmallVector<Value> emitElements(Value position, ArrayRef<unsigned> operands);
  SmallVector<Value> emitCompared(Value position) {
    return order.emitCompared(b, emitElements(position, order.getUsedOperands()));
  }
  void store(Value from, Value to, ArrayRef<Value> compared);
  ValueRange scan(Value begin, ArrayRef<Value> last);
  void writeRow();

  const SortPlan &plan;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  ElementEmitter elements;
  SortOrder order;
  SmallVector<unsigned> carried; ///< operands that move along and are not compared
  int64_t length, limit, capacity;
  std::optional<RowSorter> sorter;
  SmallVector<Value> point; ///< of the domain; the sorted dimension is null
};

} // namespace

SortEmitter::SortEmitter(KernelOp kernel, const SortPlan &plan, KernelFunction &function)
    : plan(plan), function(function), b(function.getBuilder()), elements(kernel, function), order(plan.sort) {
  SortOp sort = plan.sort;
  length = sort.getShape()[sort.getDim()];
  limit = sort.getLimit();
  int64_t room = limit + std::max(limit, kMinRoom);
  bool selects = 2 * room <= length;
  capacity = selects ? room : length;
  SmallVector<Type> types;
  for (unsigned operand : plan.yielded)
    if (!order.findCompared(operand)) {
      carried.push_back(operand);
      types.push_back(getElementTypeOrSelf(sort.getOperands()[operand]));
    }
  sorter.emplace(order, types, capacity, plan.extent, /*inPlace=*/selects, function);
}

void SortEmitter::emit() {
  Value one = function.getIndex(1);
  auto getRow = [&](Value slice) -> Value { // the first one of a slice
    Value scaled = arith::MulIOp::create(b, slice, function.getIndex(plan.rows));
    return arith::DivUIOp::create(b, scaled, function.getIndex(plan.extent));
  };
  emitLoop(b, function.getBegin(), function.getEnd(), one, [&](Value slice) {
    sorter->openSlice(slice);
    Value next = arith::AddIOp::create(b, slice, one);
    emitLoop(b, getRow(slice), getRow(next), one, [&](Value row) {
      openRow(row);
      if (capacity < length)
        selectFirst();
      else
        sortRow();
      writeRow();
    });
  });
}

// Takes the number of a row apart: where it is in every dimension but the sorted one.
void SortEmitter::openRow(Value row) {
  SortOp sort = plan.sort;
  point.clear();
  for (int64_t dim = sort.getShape().size() - 1; dim >= 0; --dim) {
    int64_t size = sort.getShape()[dim];
    if (size == 1)
      continue;
    point.emplace_back();
    if (dim == int64_t(sort.getDim()))
      continue;
    point.back() = arith::RemUIOp::create(b, row, function.getIndex(size));
    row = arith::DivUIOp::create(b, row, function.getIndex(size));
  }
  std::reverse(point.begin(), point.end());
}

SmallVector<Value> SortEmitter::emitElements(Value position, ArrayRef<unsigned> operands) {
  SmallVector<Value> at = llvm::map_to_vector(point, [&](Value v) { return v ? v : position; });
  SmallVector<Value> values(plan.elements.size());
  for (unsigned operand : operands)
    values[operand] = elements.emit(plan.elements[operand], at);
  return values;
}

// Takes the element at `from` of the row, of which `compared` is known, to `to` of the workspace.
void SortEmitter::store(Value from, Value to, ArrayRef<Value> compared) {
  SmallVector<Value> values = emitElements(from, carried);
  sorter->store(to, compared,
                llvm::map_to_vector(carried, [&](unsigned operand) { return values[operand]; }));
}

void SortEmitter::fill(int64_t size) {
  emitLoop(b, function.getIndex(0), function.getIndex(size), function.getIndex(1),
           [&](Value position) { store(position, position, emitCompared(position)); });
}

void SortEmitter::sortRow() {
  fill(length);
  sorter->sort(function.getIndex(length));
}

void SortEmitter::selectFirst() {
  OpBuilder::InsertionGuard guard(b);
  fill(capacity);
  Value full = function.getIndex(capacity), best = function.getIndex(limit);
  SmallVector<Type> types(2, b.getIndexType());
  auto rounds = scf::WhileOp::create(b, types, ValueRange{full, full}); // where the scan is; how many it has
  SmallVector<Location> locs(2, b.getLoc());
  Block *round = b.createBlock(&rounds.getBefore(), {}, types, locs);
  sorter->sort(round->getArgument(1));
  SmallVector<Value> last = sorter->load(arith::SubIOp::create(b, best, function.getIndex(1)));
  ValueRange found = scan(round->getArgument(0), last);
  Value isMore = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, found[1], best);
  scf::ConditionOp::create(b, isMore, found);
  Block *next = b.createBlock(&rounds.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, next->getArguments());
}

// Collects elements from `begin` on that come before `last`, until the workspace is full or the row ends:
// gives the position that it has come to and the number of elements in the workspace.
ValueRange SortEmitter::scan(Value begin, ArrayRef<Value> last) {
  OpBuilder::InsertionGuard guard(b);
  Value one = function.getIndex(1);
  SmallVector<Type> types(2, b.getIndexType());
  SmallVector<Location> locs(2, b.getLoc());
  auto loop = scf::WhileOp::create(b, types, ValueRange{begin, function.getIndex(limit)});
  Block *head = b.createBlock(&loop.getBefore(), {}, types, locs);
  auto isBelow = [&](Value x, int64_t bound) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, function.getIndex(bound));
  };
  Value isInside = isBelow(head->getArgument(0), length), hasRoom = isBelow(head->getArgument(1), capacity);
  scf::ConditionOp::create(b, arith::AndIOp::create(b, isInside, hasRoom), head->getArguments());
  Block *body = b.createBlock(&loop.getAfter(), {}, types, locs);
  Value position = body->getArgument(0), count = body->getArgument(1);
  SmallVector<Value> compared = emitCompared(position);
  Value isBetter = order.emitBefore(b, compared, last.take_front(compared.size()));
  auto choice = scf::IfOp::create(b, isBetter, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(choice.thenBlock());
    store(position, count, compared);
  }
  Value step = arith::IndexCastUIOp::create(b, b.getIndexType(), isBetter);
  scf::YieldOp::create(b, ValueRange{arith::AddIOp::create(b, position, one).getResult(),
                                     arith::AddIOp::create(b, count, step).getResult()});
  return loop.getResults();
}

void SortEmitter::writeRow() {
  SortOp sort = plan.sort;
  auto type = cast<RankedTensorType>(sort.getResultTypes().front());
  SmallVector<int64_t> strides;
  for (auto [size, stride] : llvm::zip_equal(sort.getShape(), getStrides(type.getShape())))
    if (size != 1)
      strides.push_back(stride);
  size_t numCompared = order.getComparedTypes().size();
  emitLoop(b, function.getIndex(0), function.getIndex(limit), function.getIndex(1), [&](Value position) {
    SmallVector<Value> at = llvm::map_to_vector(point, [&](Value v) { return v ? v : position; });
    Value index = elements.emitAccess({0, strides}, at);
    SmallVector<Value> values = sorter->load(position);
    for (auto [output, operand] : llvm::enumerate(plan.yielded)) {
      size_t moved = numCompared + (llvm::find(carried, operand) - carried.begin());
      size_t column = order.findCompared(operand).value_or(moved);
      storeElement(b, values[column], function.getOutput(output), index);
    }
  });
}

void mlir::epl::emitSortNest(KernelOp kernel, const SortPlan &plan, KernelFunction &function) {
  SortEmitter(kernel, plan, function).emit();
}
