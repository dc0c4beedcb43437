//===- AssignMeshes.cpp - Devices for the task graphs ---------------------===//
//
// Problem: a task graph says how many devices one replica wants, not which ones there are.
// Method: the one task graph gets a mesh of all devices. One that is split has an axis "model" of the devices
// of a replica; there are as many replicas as fit, along the axis "data". A module may bring its own mesh,
// for arguments sharded by hand. Invariant in: one task graph, at most one mesh. Invariant out: every task
// graph is on the mesh. Reference: EPL's nested data parallelism.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_ASSIGNMESHESPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// The axes of a mesh of `devices`, of which a task graph has `split` for each replica.
static ArrayAttr getAxes(OpBuilder &builder, int64_t devices, int64_t split) {
  auto get = [&](StringRef name, int64_t size) {
    return AxisAttr::get(builder.getContext(), name, size, /*temporal=*/false);
  };
  SmallVector<Attribute> axes = {get("data", devices / split)};
  if (split > 1)
    axes.push_back(get("model", split));
  return builder.getArrayAttr(axes);
}

/// The devices that `taskgraph` is split over, 1 if it is replicated.
static FailureOr<int64_t> getSplit(TaskGraphOp taskgraph, int64_t devices) {
  StrategyAttr strategy = taskgraph.getStrategy();
  if (devices % strategy.getDeviceCount() != 0)
    return emitError(taskgraph.getLoc())
           << stringifyStrategyKind(strategy.getKind()) << " over " << strategy.getDeviceCount()
           << " devices on " << devices << ", expected a number of devices that its device count divides";
  return strategy.getKind() == StrategyKind::split ? strategy.getDeviceCount() : 1;
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
    int64_t split = 1; // Of the one task graph; a step that computes nothing has none.
    for (auto taskgraph : module.getOps<TaskGraphOp>()) {
      FailureOr<int64_t> found = getSplit(taskgraph, devices);
      if (failed(found))
        return failure();
      split = *found;
    }
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    return MeshOp::create(builder, module.getLoc(), "mesh", getAxes(builder, devices, split));
  }
};
} // namespace
