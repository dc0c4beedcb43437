//===- AssignMeshes.cpp - Devices for the task graphs ---------------------===//
//
// Problem: a task graph says how many devices one replica wants, not which ones there are.
// Method: all task graphs are on one mesh of all devices. What is split has an axis "model" of the devices of
// a replica; there are as many replicas as fit, along the axis "data". Those that are split over other counts
// have axes of their own where these do not divide each other; an axis that a task graph is not split over
// is one more of its batch. A module may bring its own mesh, for arguments sharded by hand. Invariant in: at
// most one mesh. Invariant out: every task graph is on the mesh. Reference: EPL's nested data parallelism,
// and its layout of scopes that share devices.
//
//===----------------------------------------------------------------------===//

#include "dialect/SplitAxes.h"
#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_ASSIGNMESHESPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// The devices of one replica must divide them all.
static LogicalResult verifyCounts(ModuleOp module, int64_t devices) {
  for (auto taskgraph : module.getOps<TaskGraphOp>()) {
    StrategyAttr strategy = taskgraph.getStrategy();
    if (devices % strategy.getDeviceCount() != 0)
      return emitError(taskgraph.getLoc())
             << stringifyStrategyKind(strategy.getKind()) << " over " << strategy.getDeviceCount()
             << " devices on " << devices << ", expected a number of devices that its device count divides";
  }
  return success();
}

/// The axes of a mesh of `devices`: "data", and those that task graphs are split over.
static ArrayAttr getAxes(OpBuilder &builder, ModuleOp module, int64_t devices) {
  auto get = [&](StringRef name, int64_t size) -> Attribute {
    return AxisAttr::get(builder.getContext(), name, size, /*temporal=*/false);
  };
  SmallVector<Attribute> axes = {Attribute()};
  for (const SplitAxis &axis : getSplitAxes(module)) {
    axes.push_back(get(axis.name, axis.size));
    devices /= axis.size;
  }
  axes.front() = get("data", devices);
  return builder.getArrayAttr(axes);
}

namespace {
struct AssignMeshesPass : epl::impl::AssignMeshesPassBase<AssignMeshesPass> {
  using AssignMeshesPassBase::AssignMeshesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (devices < 1) {
      emitError(module.getLoc()) << "mesh of " << int64_t(devices) << " devices, expected at least 1";
      return signalPassFailure();
    }
    FailureOr<MeshOp> mesh = getOrCreateMesh(module);
    if (failed(mesh))
      return signalPassFailure();
    for (auto taskgraph : module.getOps<TaskGraphOp>())
      taskgraph.setMesh(mesh->getSymName());
  }

  FailureOr<MeshOp> getOrCreateMesh(ModuleOp module) {
    if (failed(verifyCounts(module, devices)))
      return failure();
    auto meshes = module.getOps<MeshOp>();
    if (meshes.empty())
      return createMesh(module);
    MeshOp mesh = *meshes.begin();
    if (mesh.getNumDevices() != devices)
      return mesh.emitOpError() << "has " << mesh.getNumDevices() << " devices, expected "
                                << int64_t(devices);
    return mesh;
  }

  FailureOr<MeshOp> createMesh(ModuleOp module) {
    if (Operation *taken = module.lookupSymbol("mesh"))
      return emitError(taken->getLoc())
             << "symbol \"mesh\" is taken, expected it free for the mesh of the devices";
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    return MeshOp::create(builder, module.getLoc(), "mesh", getAxes(builder, module, devices));
  }
};
} // namespace
