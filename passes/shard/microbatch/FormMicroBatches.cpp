//===- FormMicroBatches.cpp - A step as loops over micro-batches ----------===//
//
// Problem: a step is to be done in parts of its batch, one after another, with the results of the whole.
// Method: micro-batches are members of an axis, in time instead of in space. The batches are sharded over an
//   axis that only this pass has; the lattice of `epl-propagate` says of each value whether it has samples of
//   one micro-batch, is an addend of a sum over all, or is the same for all; placement says where sums are
//   completed. What is left of the axis then is written as loops: a part is an iteration's value, a sum is
//   carried from one to the next (LoopAssignment.h, LoopWriter.h). All else is done once: casts of weights
//   before the loop, the optimizer behind it. A loop of the step that has samples, or statistics of each
//   micro-batch, is done in each iteration (NestedLoops.h).
// Invariant in: a global program, every op with its `epl.work`; batches say their dimension.
// Invariant out: the same. Batches are (.., micro-batches, samples of one, ..), the caller's shape is kept.
//   Loops are nested in those over micro-batches only, one deep.
// Reference: docs/design.md, 5; Huang et al., "GPipe", 2019 (the meaning); EPL's gradient accumulation.
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "passes/shard/Passes.h"
#include "passes/shard/microbatch/LoopWriter.h"
#include "passes/shard/place/PlaceOnAxis.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-micro-batches"

namespace mlir::epl {
#define GEN_PASS_DEF_FORMMICROBATCHESPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops over micro-batches");
ALWAYS_ENABLED_STATISTIC(numNested, "Loops of the step that each micro-batch does");
ALWAYS_ENABLED_STATISTIC(numIterationOps, "Ops that are done in iterations");
ALWAYS_ENABLED_STATISTIC(numSums, "Values that are whole after a loop");

/// Of the axis and of its mesh, while the pass runs.
static constexpr llvm::StringLiteral kMicro = "micro_batch";

static void forgetScopes(ModuleOp module) {
  module.walk([](Operation *op) { op->removeAttr(EplDialect::kPerMicroBatchAttr); });
}

namespace {
struct FormMicroBatches : epl::impl::FormMicroBatchesPassBase<FormMicroBatches> {
  using FormMicroBatchesPassBase::FormMicroBatchesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (count == 1) // all samples are in the one micro-batch
      return forgetScopes(module);
    if (count < 1) {
      module.emitError() << count.getValue() << " micro-batches, expected at least 1";
      return signalPassFailure();
    }
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(module);
    if (failed(functions))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto axis = AxisAttr::get(module.getContext(), kMicro, count, AxisRole::none);
    auto mesh = MeshOp::create(builder, module.getLoc(), kMicro, builder.getArrayAttr(axis));
    SymbolTable(module).insert(mesh); // under another name if that one is taken
    LogicalResult formed = success();
    for (func::FuncOp function : *functions)
      if (succeeded(formed))
        formed = form(function, mesh);
    mesh.erase();
    if (failed(formed))
      signalPassFailure();
  }

  LogicalResult form(func::FuncOp function, MeshOp mesh);
  LogicalResult verify(func::FuncOp function) const;
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be cut
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getBatchDim(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kBatchDimAttr);
  return isBatch(argument) && dim ? std::optional(dim.getInt()) : std::nullopt;
}

/// How many parts data parallelism makes of a batch, at most.
static int64_t getNumReplicas(ModuleOp module) {
  int64_t most = 1;
  for (MeshOp mesh : module.getOps<MeshOp>()) {
    int64_t replicas = 1;
    for (AxisAttr axis : mesh.getAxesOfRole(AxisRole::data))
      replicas *= axis.getSize();
    most = std::max(most, replicas);
  }
  return most;
}

static LogicalResult verifyDivides(BlockArgument argument, int64_t dim, int64_t count) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto type = cast<RankedTensorType>(argument.getType());
  std::string name = describeArgument(function, argument.getArgNumber());
  if (type.isDynamicDim(dim))
    return function.emitError() << "dimension " << dim << " of " << name << " is dynamic";
  int64_t replicas = getNumReplicas(function->getParentOfType<ModuleOp>());
  if (type.getDimSize(dim) % (count * replicas) == 0)
    return success();
  InFlightDiagnostic error = function.emitError();
  error << type.getDimSize(dim) << " samples of " << name << " are not divisible by " << count
        << " micro-batches";
  if (replicas > 1)
    error << " of " << replicas << " replicas";
  return error << ": drop what is over, pad it (\"pad_batch\" of epl.parallelize), or give it whole to each "
                  "micro-batch (None as its axis in \"batch\")";
}

LogicalResult FormMicroBatches::verify(func::FuncOp function) const {
  for (Operation &op : function.front())
    if (isa<ReshardOp>(op) || getMicroBatchLoop(getEdgeLoop(&op)))
      return op.emitOpError() << "in a step of " << count.getValue()
                              << " micro-batches, expected before reshards "
                              << "and other loops over micro-batches";
  bool isCut = false;
  for (BlockArgument argument : function.getArguments())
    if (std::optional<int64_t> dim = getBatchDim(argument)) {
      isCut = true;
      if (failed(verifyDivides(argument, *dim, count)))
        return failure();
    }
  if (isCut)
    return success();
  return function.emitError() << count.getValue()
                              << " micro-batches, but the step has no batch: nothing to cut";
}

//===----------------------------------------------------------------------===//
// The axis
//===----------------------------------------------------------------------===//

/// Batches are sharded, all other arguments are the same for all micro-batches.
static void seed(func::FuncOp function, MeshOp mesh) {
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    auto sharding = ShardingAttr::getReplicated(symbol, type.getRank());
    AxisState state = AxisState::sharded(getBatchDim(argument).value_or(-1));
    setSharding(argument, withAxisState(sharding, mesh, kMicro, state));
  }
}

/// Shards the step over the axis; each change is a reshard then.
static void place(func::FuncOp function, MeshOp mesh, AxisAttr axis) {
  seed(function, mesh);
  FunctionRules rules(function, mesh);
  rules.setInTime();
  placeOnAxis(rules, axis, /*open=*/{});
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Shardings that the user gave, on the mesh of the devices: a batch has one more dimension now.
static void restoreShardings(func::FuncOp made, ArrayRef<ShardingAttr> given) {
  for (auto [argument, sharding] : llvm::zip_equal(made.getArguments(), given)) {
    made.removeArgAttr(argument.getArgNumber(), EplDialect::kShardingAttr);
    if (!sharding)
      continue;
    SmallVector<SmallVector<StringRef>> dims;
    for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
      dims.push_back(sharding.getDimAxes(dim));
    if (std::optional<int64_t> dim = getBatchDim(argument))
      dims.insert(dims.begin() + *dim - 1, SmallVector<StringRef>());
    setSharding(argument, ShardingAttr::get(made.getContext(), sharding.getMesh(), dims,
                                            sharding.getPartialAxes(), sharding.getReduction()));
  }
}

using OtherLoops = llvm::MapVector<LoopAttr, UnrollReason>;

/// The loops that cannot be done in micro-batches, of a placed function, which is rewritten.
static FailureOr<OtherLoops> findOthers(func::FuncOp placed, AxisAttr axis) {
  FailureOr<IterationStatistics> statistics = IterationStatistics::create(placed, axis);
  if (failed(statistics))
    return failure();
  if (!statistics->getOthers().empty())
    return statistics->getOthers();
  return NestedLoops(placed, axis, *statistics).findOthers();
}

/// The same of a function that is not placed, which stays as it is.
static FailureOr<OtherLoops> tryOthers(func::FuncOp function, MeshOp mesh, AxisAttr axis) {
  func::FuncOp trial = function.clone();
  function->getBlock()->getOperations().insert(function->getIterator(), trial);
  place(trial, mesh, axis);
  FailureOr<OtherLoops> others = findOthers(trial, axis);
  trial.erase();
  return others;
}

/// Unrolls those. What the iterations of one have become may ask for others.
static LogicalResult unrollOthers(func::FuncOp function, MeshOp mesh, AxisAttr axis) {
  while (llvm::any_of(function.front(), [](Operation &op) { return bool(getEdgeLoop(&op)); })) {
    FailureOr<OtherLoops> others = tryOthers(function, mesh, axis);
    if (failed(others))
      return failure();
    if (others->empty())
      return success();
    if (failed(unrollLoops(function, *others)))
      return failure();
  }
  return success();
}

LogicalResult FormMicroBatches::form(func::FuncOp function, MeshOp mesh) {
  auto axis = cast<AxisAttr>(mesh.getAxes()[0]);
  if (failed(verify(function)) || failed(unrollOthers(function, mesh, axis)))
    return failure();
  auto given = llvm::map_to_vector(function.getArguments(), [](BlockArgument a) { return getSharding(a); });
  place(function, mesh, axis);
  FailureOr<IterationStatistics> statistics = IterationStatistics::create(function, axis);
  if (failed(statistics))
    return failure();
  NestedLoops nested(function, axis, *statistics);
  nested.writeExits();
  numNested += nested.getCount();
  FunctionRules rules(function, mesh);
  FailureOr<LoopAssignment> assignment = LoopAssignment::create(rules, axis, *statistics, nested);
  if (failed(assignment))
    return failure();
  for (const LoopAssignment::Loop &loop : assignment->getLoops()) {
    LDBG() << "a loop of " << loop.ops.size() << " ops, " << loop.exits.size() << " values leave it";
    ++numLoops;
    numIterationOps += loop.ops.size();
    numSums += loop.exits.size();
  }
  func::FuncOp made = writeLoops(rules, axis, *assignment);
  function.erase();
  restoreShardings(made, given);
  for (Operation &op : made.front())
    op.removeAttr(EplDialect::kPerMicroBatchAttr);
  forgetAxis(made);
  return success();
}
