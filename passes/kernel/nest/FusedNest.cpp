//===- FusedNest.cpp - Fused, vectorized loop nests of a kernel ------------------===//
//
// Problem: a plan of nests and stages must become one function that any thread can run on any slice.
//
// Method: the slice bounds the elements (flat), the rows, or the columns of all loops. A kernel that cannot
// be sliced has one slice, [0, 1). Values between stages live in the workspace, or in a result that is stored
// later at the same place.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/FusedNest.h"

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

// Where a plan computes a value.
struct StoredValue {
  Nest *nest;
  Stage *stage;
  Root *root;
};

} // namespace

// The place of a value that is stored element by element, all of it at once.
static std::optional<StoredValue> findElementwise(FusionPlan &plan, Value value) {
  for (Nest &nest : plan.nests)
    for (Stage &stage : nest.stages)
      for (Root &root : stage.roots)
        if (!root.reduction && !root.source && root.values[0] == value)
          return StoredValue{&nest, &stage, &root};
  return std::nullopt;
}

namespace {

class NestEmitter {
public:
  NestEmitter(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace, unsigned vectorBits,
              KernelFunction &function)
      : kernel(kernel), plan(plan), inPlace(inPlace), target{vectorBits}, function(function),
        b(function.getBuilder()) {}

  void emit() {
    placeValues(kernel, plan, function, values, [&](Value temporary) { return findHost(temporary); });
    emitScalars();
    if (plan.form == Form::flat)
      emitFlat();
    else if (plan.form == Form::column)
      emitColumns();
    else
      emitRows();
  }

private:
  Value findHost(Value temporary);
  bool canHost(const StoredValue &host, Value temporary);
  void emitScalars();
  void emitFlat();
  void emitColumns();
  void emitRows();
  void emitNest(Nest &nest, Value low, Value high, Operation *kernelPoint);
  bool addsRows(Nest &nest);
  void emitPass(Nest &nest, ArrayRef<Value> rows, Operation *kernelPoint);

  KernelOp kernel;
  FusionPlan &plan;
  ArrayRef<int32_t> inPlace;
  NestTarget target;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  KernelValues values;
};

} // namespace

// Whether `stage` reads `value`; with `but` given, anywhere else.
static bool reads(Stage &stage, Value value, const StridedAccess *but = nullptr) {
  return llvm::any_of(stage.expressions->getNodes(), [&](Element &node) {
    return node.kind == Element::Kind::load && node.tensor == value && (!but || node.access != *but);
  });
}

// Whether the temporary may wait where `host` will be: `host` is computed from the temporary's element at the
// same place, in the last stage that reads the temporary.
bool NestEmitter::canHost(const StoredValue &host, Value temporary) {
  auto type = cast<RankedTensorType>(temporary.getType());
  auto hostType = cast<RankedTensorType>(host.root->values[0].getType());
  if (hostType.getElementType() != type.getElementType() ||
      hostType.getNumElements() != type.getNumElements() || !reads(*host.stage, temporary) ||
      reads(*host.stage, temporary, &host.root->stores[0]))
    return false;
  for (Nest &nest : plan.nests)
    for (Stage &stage : nest.stages)
      if (&stage != host.stage && reads(stage, temporary) &&
          (&nest != host.nest || stage.roots[0].level >= host.root->level))
        return false;
  return true;
}

// The row that a stage has just written is read again before it leaves the cache, and takes no workspace.
Value NestEmitter::findHost(Value temporary) {
  for (auto [index, operand] : llvm::enumerate(kernel.getBody().front().getTerminator()->getOperands())) {
    Value output = function.getOutput(index);
    auto isTaken = [&](Value other) { return values.buffers.lookup(other) == output; };
    if (inPlace[index] != -1 || llvm::any_of(plan.temporaries, isTaken))
      continue;
    std::optional<StoredValue> host = findElementwise(plan, stripViews(operand));
    if (host && canHost(*host, temporary))
      return output;
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
    StageEmitter(stage, function, values, target).emitRow(Value(), nullptr);
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
    StageEmitter(stage, function, values, target).emitRange(low, high);
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
      StageEmitter(stage, function, values, target).emitRange(low, high);
}

void NestEmitter::emitRows() {
  if (plan.nests.size() == 1 && plan.extent == plan.nests[0].rows) {
    emitNest(plan.nests[0], function.getBegin(), function.getEnd(), nullptr);
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  auto once = scf::ForOp::create(b, function.getBegin(), function.getEnd(), function.getIndex(1));
  b.setInsertionPointToStart(once.getBody());
  for (Nest &nest : plan.nests) {
    for (Stage &stage : nest.prologue)
      StageEmitter(stage, function, values, target).emitRow(Value(), once);
    auto emitStage = [&](Stage &stage) {
      StageEmitter(stage, function, values, target).emitRow(Value(), nullptr);
    };
    SummedRows summed{nest.rows, nest.blocks, emitStage};
    if (addsRows(nest))
      emitInPasses(function, summed, kRowsPerPass,
                   [&](ArrayRef<Value> rows, Operation *) { emitPass(nest, rows, once); });
    else
      emitInBlocks(function, summed,
                   [&](Value low, Value high, Operation *) { emitNest(nest, low, high, once); });
  }
}

void NestEmitter::emitNest(Nest &nest, Value low, Value high, Operation *kernelPoint) {
  OpBuilder::InsertionGuard guard(b);
  auto rows = scf::ForOp::create(b, low, high, function.getIndex(1));
  b.setInsertionPointToStart(rows.getBody());
  for (Stage &stage : nest.stages)
    StageEmitter(stage, function, values, target)
        .emitRow(rows.getInductionVar(), kernelPoint ? kernelPoint : rows.getOperation());
}

bool NestEmitter::addsRows(Nest &nest) {
  return llvm::any_of(nest.stages,
                      [&](Stage &stage) { return StageEmitter(stage, function, values, target).addsRows(); });
}

// Stages that add rows to sums do so for all `rows` at once, the others one row after the other.
void NestEmitter::emitPass(Nest &nest, ArrayRef<Value> rows, Operation *kernelPoint) {
  for (Stage &stage : nest.stages) {
    StageEmitter emitter(stage, function, values, target);
    if (emitter.addsRows()) {
      emitter.emitRows(rows, kernelPoint);
      continue;
    }
    OpBuilder::InsertionGuard guard(b);
    Value end = arith::AddIOp::create(b, rows.back(), function.getIndex(1));
    auto row = scf::ForOp::create(b, rows.front(), end, function.getIndex(1));
    b.setInsertionPointToStart(row.getBody());
    emitter.emitRow(row.getInductionVar(), kernelPoint);
  }
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

// Whether the stages read `input` only where its storage still holds it: at the element that `result` stores,
// in the step that stores it, or in an earlier stage of the same row.
static bool keepsInput(FusionPlan &plan, const StoredValue &result, Value input) {
  int64_t numElements = cast<RankedTensorType>(input.getType()).getNumElements();
  auto isSafe = [&](Nest &nest, Stage &stage, Element &node) {
    if (node.kind != Element::Kind::load || node.tensor != input)
      return true;
    if (&stage == result.stage && node.access == result.root->stores[0])
      return true;
    return plan.form == Form::row && &nest == result.nest && stage.roots[0].level < result.root->level &&
           staysInRow(node.access, stage.domain, stage.rowRank, nest.rows, numElements);
  };
  for (Nest &nest : plan.nests) {
    if (llvm::any_of(nest.prologue, [&](Stage &stage) { return reads(stage, input); }))
      return false;
    for (Stage &stage : nest.stages)
      for (Element &node : stage.expressions->getNodes())
        if (!isSafe(nest, stage, node))
          return false;
  }
  return true;
}

SmallVector<int32_t> mlir::epl::keepInPlace(KernelOp kernel, FusionPlan &plan, ArrayRef<int32_t> inPlace) {
  Block &body = kernel.getBody().front();
  SmallVector<int32_t> kept(body.getTerminator()->getNumOperands(), -1);
  for (auto [index, argument] : llvm::enumerate(inPlace)) {
    if (argument == -1 || llvm::is_contained(kept, argument))
      continue;
    Value input = body.getArgument(argument);
    std::optional<StoredValue> result =
        findElementwise(plan, stripViews(body.getTerminator()->getOperand(index)));
    bool gathered = llvm::any_of(body, [&](Operation &op) { return gathersFrom(&op, input); });
    bool isScalarOperand = llvm::any_of(plan.scalars, [&](Stage &stage) { return reads(stage, input); });
    if (result && !gathered && !isScalarOperand && keepsInput(plan, *result, input))
      kept[index] = argument;
  }
  return kept;
}
