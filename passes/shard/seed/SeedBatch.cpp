//===- SeedBatch.cpp - Data parallelism shards the batch ------------------===//
//
// Problem: propagation starts from the shardings of arguments.
// Method: batch arguments are sharded on their batch dimension over the axes of role `data`, and over those
//   others over which all task graphs that read them shard their batch; all other arguments are replicated.
//   So a batch is never gathered, and who wants less of it takes a slice. An axis of one device shards
//   nothing. Batches may differ in length (nodes and edges of a graph): each is sharded by itself, and must
//   divide. What comes from another mesh is sharded like a batch if it counts samples, as far as axes divide
//   it, and left to propagation if not: its sender gives what is asked for.
// Invariant in: roles are on the arguments; one mesh, with an axis of that role if there is a batch to shard.
// Invariant out: every tensor argument but those of channels has a sharding that fits; who had one keeps it.
// Reference: Shoeybi et al., "Megatron-LM", 2019, section 2 (data parallelism as a split of the batch).
//
//===----------------------------------------------------------------------===//

#include "dialect/Channels.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/TaskGraphAxes.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-batch"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDBATCHPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numBatches, "Arguments that are sharded as batches");
ALWAYS_ENABLED_STATISTIC(numWhole, "Arguments that are whole");

/// The batch dimension of an argument, or -1 if it is no batch.
static FailureOr<int64_t> getBatchDim(func::FuncOp function, unsigned argument) {
  auto dim = function.getArgAttrOfType<IntegerAttr>(argument, EplDialect::kBatchDimAttr);
  if (!isBatch(function.getArgument(argument)) && !(dim && isReceived(function.getArgument(argument))))
    return -1;
  if (!dim)
    return function.emitError() << describeArgument(function, argument) << " is a batch without \""
                                << EplDialect::kBatchDimAttr << "\"";
  return dim.getInt();
}

/// The axes over which every task graph that computes with `argument` shards its batch, in mesh order;
/// those of role `data` alone if none does.
static SmallVector<AxisAttr> getBatchAxes(BlockArgument argument, MeshOp mesh,
                                          const TaskGraphAxes &taskgraphs) {
  Block &body = *argument.getOwner();
  auto readers = llvm::map_to_vector(argument.getUsers(),
                                     [&](Operation *user) { return body.findAncestorOpInBlock(*user); });
  llvm::erase_if(readers, [](Operation *op) { return op->hasTrait<OpTrait::IsTerminator>(); });
  return llvm::filter_to_vector(mesh.getAxes().getAsRange<AxisAttr>(), [&](AxisAttr axis) {
    auto takesBatch = [&](Operation *op) { return taskgraphs.takesBatch(op, axis.getName()); };
    return axis.isData() || (!readers.empty() && llvm::all_of(readers, takesBatch));
  });
}

/// `axis "data"`, or `axes "data", "model"`.
static std::string describe(ArrayRef<AxisAttr> axes) {
  auto names = llvm::map_range(axes, [](AxisAttr axis) { return ("\"" + axis.getName() + "\"").str(); });
  return (axes.size() == 1 ? "axis " : "axes ") + llvm::join(names, ", ");
}

static LogicalResult verifyDivides(func::FuncOp function, BlockArgument argument, int64_t dim,
                                   ArrayRef<AxisAttr> axes, int64_t parts) {
  auto type = cast<RankedTensorType>(argument.getType());
  std::string name = describeArgument(function, argument.getArgNumber());
  if (type.isDynamicDim(dim))
    return function.emitError() << "dimension " << dim << " of " << name << " is dynamic";
  if (type.getDimSize(dim) % parts == 0)
    return success();
  return function.emitError()
         << "dimension " << dim << " of " << name << " of size " << type.getDimSize(dim)
         << " is not divisible by " << describe(axes) << " of size " << parts
         << ": drop what is over, pad it (\"pad_batch\" of epl.parallelize), or leave it "
            "whole on every device (None as its axis in \"batch\")";
}

static LogicalResult seedArgument(func::FuncOp function, BlockArgument argument, MeshOp mesh,
                                  const TaskGraphAxes &taskgraphs) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || getSharding(argument))
    return success();
  FailureOr<int64_t> dim = getBatchDim(function, argument.getArgNumber());
  if (failed(dim))
    return failure();
  if (isReceived(argument) && *dim < 0)
    return success();
  auto sharding = ShardingAttr::getReplicated(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), type.getRank());
  if (*dim >= 0 && mesh.getAxesOfRole(AxisRole::data).empty())
    return mesh.emitOpError() << "has no axis of role \"data\" to shard the batch over";
  SmallVector<AxisAttr> axes;
  if (*dim >= 0)
    axes = getBatchAxes(argument, mesh, taskgraphs);
  llvm::erase_if(axes, [](AxisAttr axis) { return axis.getSize() == 1; });
  int64_t parts = 1;
  for (AxisAttr axis : axes) {
    if (isReceived(argument) && type.getDimSize(*dim) % (parts * axis.getSize()) != 0)
      continue;
    parts *= axis.getSize();
    sharding = withAxisState(sharding, mesh, axis.getName(), AxisState::sharded(*dim));
  }
  if (!axes.empty() && !isReceived(argument) && failed(verifyDivides(function, argument, *dim, axes, parts)))
    return failure();
  LDBG() << describeArgument(function, argument.getArgNumber()) << " " << sharding;
  ++(sharding.isReplicated() ? numWhole : numBatches);
  setSharding(argument, sharding);
  return success();
}

namespace {
struct SeedBatch : epl::impl::SeedBatchPassBase<SeedBatch> {
  void runOnOperation() override {
    if (failed(seed()))
      signalPassFailure();
  }

  LogicalResult seed() {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation());
    if (failed(programs))
      return failure();
    for (auto [function, mesh] : *programs) {
      TaskGraphAxes taskgraphs(mesh);
      for (BlockArgument argument : function.getArguments())
        if (failed(seedArgument(function, argument, mesh, taskgraphs)))
          return failure();
    }
    return success();
  }
};
} // namespace
