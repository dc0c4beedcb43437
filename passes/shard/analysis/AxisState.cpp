//===- AxisState.cpp - Shardings, one axis at a time ----------------------===//

#include "passes/shard/analysis/AxisState.h"

#include "dialect/Channels.h"
#include "dialect/Loops.h"
#include "dialect/Servers.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::epl;

std::string mlir::epl::describeState(AxisState state) {
  if (state.isSharded())
    return "sharded on dimension " + std::to_string(state.dim);
  return state.partial ? ("pending " + stringifyReductionKind(*state.partial)).str() : "replicated";
}

void mlir::epl::setSharding(Value value, ShardingAttr sharding) {
  assert(sharding.getRank() == cast<RankedTensorType>(value.getType()).getRank() &&
         "a sharding of the tensor");
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    function.setArgAttr(argument.getArgNumber(), EplDialect::kShardingAttr, sharding);
    return;
  }
  auto result = cast<OpResult>(value);
  SmallVector<Attribute> shardings;
  for (OpResult each : result.getOwner()->getResults()) {
    auto type = dyn_cast<RankedTensorType>(each.getType());
    ShardingAttr old = getSharding(each);
    shardings.push_back(old ? old
                            : ShardingAttr::getReplicated(sharding.getMesh(), type ? type.getRank() : 0));
  }
  shardings[result.getResultNumber()] = sharding;
  result.getOwner()->setAttr(EplDialect::kShardingAttr, ArrayAttr::get(sharding.getContext(), shardings));
}

AxisState mlir::epl::getAxisState(ShardingAttr sharding, StringRef axis) {
  if (llvm::is_contained(sharding.getPartialAxes(), axis))
    return AxisState::pending(sharding.getReduction());
  return AxisState::sharded(sharding.getDimOf(axis));
}

/// `axes` with `axis` or without it, in mesh order.
static SmallVector<StringRef> withAxis(SmallVector<StringRef> axes, MeshOp mesh, StringRef axis,
                                       bool present) {
  llvm::erase(axes, axis);
  if (present)
    axes.push_back(axis);
  llvm::sort(axes,
             [&](StringRef a, StringRef b) { return mesh.getAxisPosition(a) < mesh.getAxisPosition(b); });
  return axes;
}

ShardingAttr mlir::epl::withAxisState(ShardingAttr sharding, MeshOp mesh, StringRef axis, AxisState state) {
  assert(mesh.getAxis(axis) && state.dim < sharding.getRank() && !(state.isSharded() && state.partial) &&
         "a state of the tensor on an axis of the mesh");
  SmallVector<SmallVector<StringRef>> dims;
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
    dims.push_back(withAxis(sharding.getDimAxes(dim), mesh, axis, dim == state.dim));
  SmallVector<StringRef> partial = withAxis(sharding.getPartialAxes(), mesh, axis, state.partial.has_value());
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims, partial,
                           state.partial.value_or(sharding.getReduction()));
}

bool mlir::epl::isFloatState(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kRoleAttr);
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  bool isState =
      (role && role.getValue() == "state") || function.getArgAttr(argument.getArgNumber(), kPullAttr);
  return isState && type && isa<FloatType>(type.getElementType());
}

bool mlir::epl::hasWantedResults(func::FuncOp function) {
  return llvm::any_of(llvm::seq(function.getNumResults()), [&](unsigned index) {
    return function.getResultAttr(index, EplDialect::kWantedAttr) != nullptr;
  });
}

BlockArgument mlir::epl::getUpdatedArgument(func::FuncOp function, unsigned result) {
  auto updates = function.getResultAttrOfType<IntegerAttr>(result, EplDialect::kUpdatesAttr);
  if (!updates || updates.getInt() < 0 || updates.getInt() >= function.getNumArguments())
    return {};
  BlockArgument argument = function.getArgument(updates.getInt());
  return argument.getType() == function.getResultTypes()[result] ? argument : BlockArgument();
}

/// Checks the sharding of one value; `owner` is blamed. `maker` names the pass that gives it one, if it must
/// have one.
static LogicalResult verifyFits(Operation *owner, Value value, const Twine &name, StringRef maker) {
  ShardingAttr sharding = getSharding(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type && sharding && isa<BlockArgument>(value))
    return owner->emitOpError() << name << " has a sharding but is no ranked tensor";
  if (type && sharding)
    return verifySharding(owner, sharding, type, name);
  if (!type || maker.empty())
    return success();
  return owner->emitOpError() << name << " has no \"" << EplDialect::kShardingAttr
                              << "\", which this pass needs: run --" << maker << " before";
}

static LogicalResult verifyShardings(func::FuncOp function, Shardings needed) {
  bool all = needed == Shardings::ofAll;
  StringRef argumentsBy = all ? "epl-propagate" : needed == Shardings::ofArguments ? "epl-seed-batch" : "";
  StringRef resultsBy = all ? "epl-propagate" : "";
  for (BlockArgument argument : function.getArguments()) {
    // What comes from another mesh may be left to propagation.
    StringRef maker = isReceived(argument) && !all ? StringRef() : argumentsBy;
    if (failed(verifyFits(function, argument, describeArgument(function, argument.getArgNumber()), maker)))
      return failure();
  }
  for (Operation &op : function.getBody().front())
    for (OpResult result : op.getResults())
      if (failed(verifyFits(&op, result, "result " + Twine(result.getResultNumber()), resultsBy)))
        return failure();
  return success();
}

LogicalResult mlir::epl::verifyNotPlaced(func::FuncOp function) {
  for (auto reshard : function.getOps<ReshardOp>())
    if (reshard.getSharding().isPartial())
      return reshard.emitOpError("leaves a value pending in a program that is still to be sharded");
  return success();
}

static LogicalResult verifyBatchDims(func::FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto dim = function.getArgAttrOfType<IntegerAttr>(index, EplDialect::kBatchDimAttr);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (dim && tensor && (dim.getInt() < 0 || dim.getInt() >= tensor.getRank()))
      return function.emitError() << "batch dimension " << dim.getInt() << " of "
                                  << describeArgument(function, index) << " is not a dimension of " << tensor;
  }
  return success();
}

static LogicalResult verifyUpdates(func::FuncOp function) {
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto updates = function.getResultAttrOfType<IntegerAttr>(index, EplDialect::kUpdatesAttr);
    if (updates && (updates.getInt() < 0 || updates.getInt() >= function.getNumArguments()))
      return function.emitError() << "result " << index << " updates argument " << updates.getInt()
                                  << ", expected one of " << function.getNumArguments();
  }
  return success();
}

FailureOr<SmallVector<func::FuncOp>> mlir::epl::getGlobalFunctions(ModuleOp module) {
  if (failed(verifyLevel(module, Level::global)))
    return failure();
  SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    if (!function.getBody().hasOneBlock() || !isa<func::ReturnOp>(function.getBody().front().getTerminator()))
      return function.emitOpError("has control flow, expected one block that returns");
    if (failed(verifyLoops(function.getBody().front())) || failed(verifyBatchDims(function)) ||
        failed(verifyUpdates(function)))
      return failure();
    functions.push_back(function);
  }
  return functions;
}

FailureOr<SmallVector<Program>> mlir::epl::getPrograms(ModuleOp module, Shardings needed) {
  FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(module);
  if (failed(functions))
    return failure();
  SmallVector<Program> programs;
  for (func::FuncOp function : *functions) {
    FailureOr<MeshOp> mesh = getMesh(function);
    if (failed(mesh) || failed(verifyShardings(function, needed)))
      return failure();
    programs.push_back({function, *mesh});
  }
  return programs;
}

FailureOr<SmallVector<func::FuncOp>> mlir::epl::getUndealtFunctions(ModuleOp module) {
  if (llvm::range_size(module.getOps<MeshOp>()) < 2)
    return SmallVector<func::FuncOp>();
  FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(module);
  if (succeeded(functions))
    llvm::erase_if(*functions,
                   [](func::FuncOp function) { return function->hasAttr(EplDialect::kMeshAttr); });
  return functions;
}

bool mlir::epl::isBatch(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function) // of the region of an op
    return false;
  auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kRoleAttr);
  return role && role.getValue() == "batch";
}

std::optional<WorkKind> mlir::epl::getWorkKind(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return work ? std::optional(work.getKind()) : std::nullopt;
}

std::string mlir::epl::describeArgument(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, EplDialect::kNameAttr);
  return name ? ("argument \"" + name.getValue() + "\"").str() : "argument " + std::to_string(argument);
}
