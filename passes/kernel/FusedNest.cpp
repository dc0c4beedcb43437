//===- FusedNest.cpp - Fused, vectorized loop nests of a kernel ------------------===//
//
// Problem: a plan of nests and stages must become one function that any thread can run on any slice.
//
// Method: the slice bounds the elements (flat), the rows, or the columns of all loops. A kernel that cannot
// be sliced has one slice, [0, 1). Values between stages live in the workspace, or in a result that is stored
// later at the same place.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/FusedNest.h"

#include "passes/kernel/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

class NestEmitter {
public:
  NestEmitter(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace, unsigned vectorBits,
              KernelFunction &function)
      : kernel(kernel), plan(plan), inPlace(inPlace), vectorBits(vectorBits), function(function),
        b(function.getBuilder()) {}

  void emit() {
    mapScalars();
    mapBuffers();
    emitScalars();
    if (plan.form == Form::flat)
      emitFlat();
    else if (plan.form == Form::column)
      emitColumns();
    else
      emitRows();
  }

private:
  void mapScalars();
  void mapBuffers();
  Value findHost(Value temporary);
  void emitScalars();
  void emitFlat();
  void emitColumns();
  void emitRows();
  void emitNest(Nest &nest, Value low, Value high, Operation *kernelPoint);

  KernelOp kernel;
  FusionPlan &plan;
  ArrayRef<int32_t> inPlace;
  unsigned vectorBits;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  KernelValues values;
};

} // namespace

void NestEmitter::mapScalars() {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto axis = dyn_cast<AxisIndexOp>(op))
      values.scalars.map(axis.getResult(), function.getAxisIndex(axis));
    else if (llvm::none_of(op.getResultTypes(), isTensor))
      b.clone(op, values.scalars);
  }
}

void NestEmitter::mapBuffers() {
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments())
    values.buffers[argument] = function.getInput(argument.getArgNumber());
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    values.buffers[stripViews(value)] = function.getOutput(index);
  for (Value temporary : plan.temporaries) {
    Value host = findHost(temporary);
    values.buffers[temporary] = host ? host : function.allocate(cast<RankedTensorType>(temporary.getType()));
  }
  for (Nest &nest : plan.nests)
    for (Stage &stage : nest.stages)
      for (Root &root : stage.roots)
        for (Value value : root.values)
          if (Value &buffer = values.buffers[value]; !buffer)
            buffer = function.allocate(cast<RankedTensorType>(value.getType()));
}

// A result of the temporary's type that is computed last, from the temporary's element at the same place: the
// row that was just written is read again before it leaves the cache, and no workspace is needed.
Value NestEmitter::findHost(Value temporary) {
  auto readsAt = [&](Stage &stage, const StridedAccess *access) {
    return llvm::any_of(stage.expressions->getNodes(), [&](Element &node) {
      return node.kind == Element::Kind::load && node.tensor == temporary &&
             (!access || node.access != *access);
    });
  };
  auto type = cast<RankedTensorType>(temporary.getType());
  for (Nest &nest : plan.nests)
    for (Stage &stage : nest.stages)
      for (Root &root : stage.roots) {
        auto hostType = cast<RankedTensorType>(root.values[0].getType());
        bool isLast = true;
        for (Nest &other : plan.nests)
          for (Stage &reader : other.stages)
            if (&reader != &stage && readsAt(reader, nullptr))
              isLast &= &other == &nest && reader.roots[0].level < root.level;
        for (auto [index, operand] : llvm::enumerate(kernel.getBody().front().getTerminator()->getOperands()))
          if (stripViews(operand) == root.values[0] && inPlace[index] == -1 && !root.reduction &&
              !root.source && isLast && hostType.getElementType() == type.getElementType() &&
              !readsAt(stage, &root.stores[0]) && readsAt(stage, nullptr) &&
              hostType.getNumElements() == type.getNumElements() &&
              llvm::none_of(plan.temporaries, [&](Value other) {
                return values.buffers.lookup(other) == function.getOutput(index);
              }))
            return function.getOutput(index);
      }
  return Value();
}

// Every slice would store the same; the first one does.
void NestEmitter::emitScalars() {
  if (plan.scalars.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, function.getBegin(), function.getIndex(0));
  auto first = scf::IfOp::create(b, isFirst);
  b.setInsertionPointToStart(first.thenBlock());
  for (Stage &stage : plan.scalars)
    StageEmitter(stage, function, values, vectorBits).emitRow(Value(), nullptr);
}

// Each group has its range of the concatenated elements.
void NestEmitter::emitFlat() {
  int64_t offset = 0;
  for (Nest &nest : plan.nests) {
    Stage &stage = nest.stages[0];
    auto clamp = [&](Value position) -> Value {
      if (plan.nests.size() == 1)
        return position;
      Value local = arith::SubIOp::create(b, position, function.getIndex(offset));
      local = arith::MaxSIOp::create(b, local, function.getIndex(0));
      return arith::MinSIOp::create(b, local, function.getIndex(stage.getVolume()));
    };
    Value low = clamp(function.getBegin()), high = clamp(function.getEnd());
    StageEmitter(stage, function, values, vectorBits).emitRange(low, high);
    offset += stage.getVolume();
  }
}

void NestEmitter::emitColumns() {
  int64_t columns = plan.nests[0].stages[0].domain.back();
  Value block = function.getIndex(kColumnBlock);
  Value low = arith::MulIOp::create(b, function.getBegin(), block);
  Value high = arith::MulIOp::create(b, function.getEnd(), block);
  low = arith::MinSIOp::create(b, low, function.getIndex(columns));
  high = arith::MinSIOp::create(b, high, function.getIndex(columns));
  for (Nest &nest : plan.nests)
    for (Stage &stage : nest.stages)
      StageEmitter(stage, function, values, vectorBits).emitRange(low, high);
}

void NestEmitter::emitRows() {
  if (plan.nests.size() == 1 && plan.extent == plan.nests[0].rows) {
    emitNest(plan.nests[0], function.getBegin(), function.getEnd(), nullptr);
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  auto once = scf::ForOp::create(b, function.getBegin(), function.getEnd(), function.getIndex(1));
  b.setInsertionPointToStart(once.getBody());
  for (Nest &nest : plan.nests)
    emitNest(nest, function.getIndex(0), function.getIndex(nest.rows), once);
}

void NestEmitter::emitNest(Nest &nest, Value low, Value high, Operation *kernelPoint) {
  for (Stage &stage : nest.prologue)
    StageEmitter(stage, function, values, vectorBits).emitRow(Value(), kernelPoint);
  OpBuilder::InsertionGuard guard(b);
  auto rows = scf::ForOp::create(b, low, high, function.getIndex(1));
  b.setInsertionPointToStart(rows.getBody());
  for (Stage &stage : nest.stages)
    StageEmitter(stage, function, values, vectorBits)
        .emitRow(rows.getInductionVar(), kernelPoint ? kernelPoint : rows.getOperation());
}

void mlir::epl::emitFusedNest(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace,
                              unsigned vectorBits, KernelFunction &function) {
  NestEmitter(kernel, plan, inPlace, vectorBits, function).emit();
}

//===----------------------------------------------------------------------===//
// Sharing of storage
//===----------------------------------------------------------------------===//

// Whether a payload reads elements of `input` that its maps do not name.
static bool gathersFrom(Operation *op, Value input) {
  return op
      ->walk([&](tensor::ExtractOp extract) {
        return extract.getTensor() == input ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Reads of `input` anywhere but at the elements that `root` stores, in the step that stores them. Rows before
// may read it as long as they are of an earlier stage and the same row.
static bool respects(FusionPlan &plan, Stage &storing, Root &root, Value input) {
  int64_t numElements = cast<RankedTensorType>(input.getType()).getNumElements();
  for (Operation &op : input.getParentBlock()->without_terminator())
    if (gathersFrom(&op, input))
      return false;
  for (Stage &stage : plan.scalars)
    for (Element &node : stage.expressions->getNodes())
      if (node.tensor == input)
        return false;
  for (Nest &nest : plan.nests)
    for (auto *stages : {&nest.prologue, &nest.stages})
      for (Stage &stage : *stages)
        for (Element &node : stage.expressions->getNodes()) {
          if (node.kind != Element::Kind::load || node.tensor != input)
            continue;
          bool sameStep = &stage == &storing && node.access == root.stores[0];
          bool earlier = plan.form == Form::row && stages == &nest.stages &&
                         &nest == &plan.nests[root.nest] && stage.roots[0].level < root.level &&
                         staysInRow(node.access, stage.domain, stage.rowRank, nest.rows, numElements);
          if (!sameStep && !earlier)
            return false;
        }
  return true;
}

SmallVector<int32_t> mlir::epl::keepInPlace(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace) {
  Block &body = kernel.getBody().front();
  SmallVector<int32_t> kept(body.getTerminator()->getNumOperands(), -1);
  for (auto [index, input] : llvm::enumerate(inPlace)) {
    if (input == -1 || llvm::is_contained(kept, input))
      continue;
    Value value = stripViews(body.getTerminator()->getOperand(index));
    for (Nest &nest : plan.nests)
      for (Stage &stage : nest.stages)
        for (Root &root : stage.roots)
          if (!root.reduction && !root.source && root.values[0] == value &&
              respects(plan, stage, root, body.getArgument(input)))
            kept[index] = input;
  }
  return kept;
}
