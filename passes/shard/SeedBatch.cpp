//===- SeedBatch.cpp - Data parallelism shards the batch ------------------===//
//
// Problem: propagation starts from the shardings of arguments.
// Method: batch arguments are sharded on their batch dimension over the axis "data", all others replicated.
// An
//   axis of one device shards nothing.
// Invariant in: roles are on the arguments; one mesh, with an axis "data" if there is a batch to shard.
// Invariant out: every tensor argument has a sharding that fits; those that had one keep it.
// Reference: Shoeybi et al., "Megatron-LM", 2019, section 2 (data parallelism as a split of the batch).
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"

#include "passes/shard/AxisState.h"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDBATCHPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// The batch dimension of an argument, or -1 if it is no batch; an error if there is no such dimension.
static FailureOr<int64_t> getBatchDim(func::FuncOp function, unsigned argument, RankedTensorType type) {
  auto role = function.getArgAttrOfType<StringAttr>(argument, EplDialect::kRoleAttr);
  if (!role || role.getValue() != "batch")
    return -1;
  std::string name = describeArgument(function, argument);
  auto dim = function.getArgAttrOfType<IntegerAttr>(argument, EplDialect::kBatchDimAttr);
  if (!dim)
    return function.emitError() << name << " is a batch without \"" << EplDialect::kBatchDimAttr << "\"";
  if (dim.getInt() < 0 || dim.getInt() >= type.getRank())
    return function.emitError() << "batch dimension " << dim.getInt() << " of " << name
                                << " is not a dimension of " << type;
  return dim.getInt();
}

static LogicalResult verifyDivides(func::FuncOp function, BlockArgument argument, int64_t dim,
                                   AxisAttr axis) {
  auto type = cast<RankedTensorType>(argument.getType());
  std::string name = describeArgument(function, argument.getArgNumber());
  if (type.isDynamicDim(dim))
    return function.emitError() << "dimension " << dim << " of " << name << " is dynamic";
  if (type.getDimSize(dim) % axis.getSize() != 0)
    return function.emitError() << "dimension " << dim << " of " << name << " of size "
                                << type.getDimSize(dim) << " is not divisible by axis \"" << axis.getName()
                                << "\" of size " << axis.getSize()
                                << ": drop what is over, or pad it (\"pad_batch\" of the front end)";
  return success();
}

static LogicalResult seedArgument(func::FuncOp function, BlockArgument argument, MeshOp mesh, AxisAttr axis) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || getSharding(argument))
    return success();
  FailureOr<int64_t> dim = getBatchDim(function, argument.getArgNumber(), type);
  if (failed(dim))
    return failure();
  auto sharding = ShardingAttr::getReplicated(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), type.getRank());
  if (*dim >= 0 && !axis)
    return mesh.emitOpError() << "has no axis \"" << kDataAxis << "\" to shard the batch over";
  if (*dim >= 0 && axis.getSize() > 1) {
    if (failed(verifyDivides(function, argument, *dim, axis)))
      return failure();
    sharding = withAxisState(sharding, mesh, axis.getName(), AxisState::sharded(*dim));
  }
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
    FailureOr<MeshOp> mesh = getSpatialMesh(getOperation());
    FailureOr<SmallVector<func::FuncOp>> programs = getPrograms(getOperation());
    if (failed(mesh) || failed(programs))
      return failure();
    AxisAttr axis = mesh->getAxis(kDataAxis);
    for (func::FuncOp program : *programs)
      for (BlockArgument argument : program.getArguments())
        if (failed(seedArgument(program, argument, *mesh, axis)))
          return failure();
    return success();
  }
};
} // namespace
