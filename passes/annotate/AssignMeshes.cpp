//===- AssignMeshes.cpp - Devices for the task graphs ---------------------===//
//
// Problem: a task graph says how many devices one replica wants, not which ones there are.
// Method: the one task graph gets a mesh of all devices, along the axis "data".
// Invariant in: one replicated task graph. Invariant out: `epl.mesh @mesh`, and every task graph is on it.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_ASSIGNMESHESPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {
struct AssignMeshesPass : epl::impl::AssignMeshesPassBase<AssignMeshesPass> {
  using AssignMeshesPassBase::AssignMeshesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (devices < 1) {
      emitError(module.getLoc()) << "mesh of " << int64_t(devices) << " devices, expected at least 1";
      return signalPassFailure();
    }
    if (Operation *taken = module.lookupSymbol("mesh")) {
      emitError(taken->getLoc()) << "symbol \"mesh\" is taken, expected it free for the mesh of the devices";
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto axis = AxisAttr::get(&getContext(), "data", devices, /*temporal=*/false);
    MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axis));
    for (auto taskgraph : module.getOps<TaskGraphOp>())
      taskgraph.setMesh("mesh");
  }
};
} // namespace
