//===- Localize.cpp - From global tensors to local tensors ----------------===//
//
// Problem: the program says how every value is distributed, but still computes the whole of it.
// Method: obey. The function is rebuilt op by op with the tensors that one rank holds. Most ops do on these
// what they did on the global ones: the clone needs the local types of its results and no more. Those that
// mention an extent or a position say in their model what they become (ShardableOp). The only place where
// ranks talk to each other is LocalizeReshards.cpp.
// In: a global program for which `epl-verify-sharded` holds: operands and results of every op agree.
// Out: arguments and results are `!epl.dist`, all else works on local tensors; `epl.sharding` stays on ops,
// so that form-tasks knows what crosses a task. No `epl.reshard` is left. Reference: docs/design.md, 4.3
// and 4.4.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/localize/Localize.h"

#include "dialect/Levels.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-localize"

namespace mlir::epl {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numClones, "Ops that are the same on local tensors");
ALWAYS_ENABLED_STATISTIC(numModelled, "Ops that are others on local tensors");
ALWAYS_ENABLED_STATISTIC(numReshards, "Reshards that became collectives, slices or nothing");

//===----------------------------------------------------------------------===//
// Localizer
//===----------------------------------------------------------------------===//

Value Localizer::getAxisIndex(FlatSymbolRefAttr mesh, StringRef axis) {
  Value &index = axisIndices[{mesh, axis}];
  if (!index) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body);
    index = AxisIndexOp::create(builder, body->getParentOp()->getLoc(), mesh, builder.getStringAttr(axis));
  }
  return index;
}

Value Localizer::createOffset(OpBuilder &at, Location loc, MeshOp mesh, ArrayRef<StringRef> axes,
                              int64_t extent) {
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(at, loc, value, arith::ConstantIndexOp::create(at, loc, factor));
  };
  Value part = getAxisIndex(symbol, axes.front());
  for (StringRef axis : axes.drop_front())
    part =
        arith::AddIOp::create(at, loc, times(part, mesh.getAxis(axis).getSize()), getAxisIndex(symbol, axis));
  return times(part, extent);
}

Operation *Localizer::cloneLocal(Operation *op) {
  Operation *local = builder.clone(*op, values);
  for (auto [global, result] : llvm::zip(op->getResults(), local->getResults()))
    if (isa<RankedTensorType>(global.getType()))
      result.setType(getLocalType(global));
  return local;
}

void Localizer::stamp(Operation *local, Operation *global, ShardingAttr as) {
  local->setAttr(EplDialect::kShardingAttr, builder.getArrayAttr(as));
  copyWork(global, local);
}

Operation *mlir::epl::createMap(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
                                ArrayRef<AffineMap> maps, function_ref<Value(OpBuilder &, ValueRange)> body,
                                function_ref<void(Operation *)> stamp) {
  SmallVector<AffineMap> all(maps);
  all.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto map = linalg::GenericOp::create(builder, loc, type, inputs, empty.getResult(), all, loops,
                                       [&](OpBuilder &at, Location, ValueRange elements) {
                                         Value result = body(at, elements.drop_back());
                                         linalg::YieldOp::create(at, loc, result);
                                       });
  stamp(empty);
  stamp(map);
  return map;
}

Operation *Localizer::createMap(Operation *global, RankedTensorType type, ShardingAttr as, ValueRange inputs,
                                ArrayRef<AffineMap> maps, function_ref<Value(OpBuilder &, ValueRange)> body) {
  return epl::createMap(builder, global->getLoc(), type, inputs, maps, body,
                        [&](Operation *local) { stamp(local, global, as); });
}

void mlir::epl::replaceByLocal(Operation *op, Operation *local, Localizer &localizer) {
  local->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  localizer.values.map(op->getResults(), local->getResults());
}

RankedTensorType mlir::epl::getLocalType(Value global) {
  ShardingAttr sharding = getSharding(global);
  MeshOp mesh = lookupMesh(global.getParentRegion()->getParentOp(), sharding.getMesh());
  return getLocalType(mesh, sharding, cast<RankedTensorType>(global.getType()));
}

//===----------------------------------------------------------------------===//
// The shardings that the rest relies on
//===----------------------------------------------------------------------===//

/// Axes split a dimension in mesh order. That every op agrees on its operands axis by axis (what
/// `epl-verify-sharded` checks) then means that it agrees on them as a whole.
static LogicalResult verifyMeshOrder(Operation *op, MeshOp mesh, ShardingAttr sharding, const Twine &value) {
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    SmallVector<StringRef> axes = sharding.getDimAxes(dim);
    if (!llvm::is_sorted(axes, [&](StringRef a, StringRef b) {
          return mesh.getAxisPosition(a) < mesh.getAxisPosition(b);
        }))
      return op->emitOpError() << "sharding of " << value << " splits dimension " << dim << " by "
                               << sharding.getDims()[dim] << ", which is not the order of mesh \""
                               << mesh.getSymName() << "\": not supported yet";
  }
  return success();
}

/// The sharding of `value` is there and fits, and localize can obey it.
static LogicalResult verifyObeyable(Operation *op, Value value, const Twine &name) {
  ShardingAttr sharding = getSharding(value);
  if (!sharding)
    return op->emitOpError() << name << " has no \"" << EplDialect::kShardingAttr << "\"";
  if (failed(verifySharding(op, sharding, cast<RankedTensorType>(value.getType()), name)))
    return failure();
  return verifyMeshOrder(op, lookupMesh(op, sharding.getMesh()), sharding, name);
}

static LogicalResult verifyShardings(Operation *op, ValueRange values, StringRef what) {
  for (auto [index, value] : llvm::enumerate(values))
    if (isa<RankedTensorType>(value.getType()) &&
        failed(verifyObeyable(op, value, what + Twine(" ") + Twine(index))))
      return failure();
  return success();
}

static LogicalResult verifyShardings(func::FuncOp function) {
  if (failed(verifyShardings(function, function.getArguments(), "argument")))
    return failure();
  for (Operation &op : function.front())
    if (failed(verifyShardings(&op, op.getResults(), "result")))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The distributed type of a global tensor; other types are their own.
static Type getDistType(Value global) {
  auto type = dyn_cast<RankedTensorType>(global.getType());
  return type ? DistType::get(type.getContext(), type, getSharding(global)) : global.getType();
}

static FunctionType getDistType(func::FuncOp function, Operation *terminator) {
  return FunctionType::get(
      function.getContext(),
      llvm::map_to_vector(function.getArguments(), [](Value v) { return getDistType(v); }),
      llvm::map_to_vector(terminator->getOperands(), [](Value v) { return getDistType(v); }));
}

/// Local arguments: a cast for each distributed one.
static void localizeArguments(func::FuncOp global, func::FuncOp local, Localizer &localizer) {
  for (auto [from, to] : llvm::zip(global.getArguments(), local.getArguments())) {
    to.setLoc(from.getLoc());
    local.removeArgAttr(to.getArgNumber(), EplDialect::kShardingAttr);
    Value value = to;
    if (isa<DistType>(to.getType()))
      value = ToLocalOp::create(localizer.builder, from.getLoc(), getLocalType(from), to);
    localizer.values.map(from, value);
  }
}

static void localizeReturn(Operation *terminator, Localizer &localizer) {
  SmallVector<Value> results;
  for (Value global : terminator->getOperands()) {
    Value local = localizer.values.lookup(global);
    Type type = getDistType(global);
    if (type != global.getType())
      local = FromLocalOp::create(localizer.builder, terminator->getLoc(), type, local);
    results.push_back(local);
  }
  func::ReturnOp::create(localizer.builder, terminator->getLoc(), results);
}

static void localizeBody(func::FuncOp global, func::FuncOp local) {
  Localizer localizer(local.addEntryBlock());
  localizeArguments(global, local, localizer);
  for (Operation &op : global.front().without_terminator()) {
    auto model = dyn_cast<ShardableOp>(op);
    bool isModelled = model && model.localize(localizer);
    LDBG() << op.getName() << (isModelled ? " by its model" : " as it is");
    ++(isa<ReshardOp>(op) ? numReshards : isModelled ? numModelled : numClones);
    if (!isModelled)
      localizer.cloneLocal(&op);
  }
  localizeReturn(global.front().getTerminator(), localizer);
}

/// Replaces `global` by its local function.
static LogicalResult localizeFunction(func::FuncOp global) {
  if (failed(verifyShardings(global)))
    return failure();
  for (Operation &op : global.front())
    op.removeAttr(EplDialect::kFactorsAttr);
  OpBuilder builder(global);
  func::FuncOp local = builder.cloneWithoutRegions(global);
  local.setType(getDistType(global, global.front().getTerminator()));
  localizeBody(global, local);
  global.erase();
  return success();
}

namespace {
struct LocalizePass : epl::impl::LocalizePassBase<LocalizePass> {
  void runOnOperation() override {
    if (failed(verifyLevel(getOperation(), Level::global)))
      return signalPassFailure();
    for (func::FuncOp function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(localizeFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
