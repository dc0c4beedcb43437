//===- TaskGraphAxes.cpp - What task graphs use an axis for ---------------===//

#include "passes/shard/analysis/TaskGraphAxes.h"

#include "dialect/Sharding.h"
#include "dialect/SplitAxes.h"

using namespace mlir;
using namespace mlir::epl;

TaskGraphAxes::TaskGraphAxes(MeshOp mesh) {
  SmallVector<TaskGraphOp> taskgraphs = getTaskGraphs(mesh);
  SmallVector<SplitAxis> axes = getSplitAxes(mesh);
  for (AxisAttr axis : mesh.getAxesOfRole(AxisRole::data))
    data.insert(axis.getName());
  for (TaskGraphOp taskgraph : taskgraphs) {
    llvm::StringSet<> &own = splits[taskgraph.getSymNameAttr()];
    for (const SplitAxis &axis : axes)
      if (axis.isSplit(taskgraph.getStrategy()))
        own.insert(axis.name);
      else
        mixed.insert(axis.name);
  }
}

bool TaskGraphAxes::takesBatch(Operation *op, StringRef axis) const {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return data.contains(axis) ||
         (work && mixed.contains(axis) && !splits.lookup(work.getTaskgraph().getAttr()).contains(axis));
}

/// What applies gradients has no samples, and one op of it may work on parameters of several task graphs.
AxisUse TaskGraphAxes::getUse(Operation *op, StringRef axis) const {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  if (!mixed.contains(axis) || !work || work.getKind() == WorkKind::apply)
    return AxisUse::open;
  return takesBatch(op, axis) ? AxisUse::batch : AxisUse::split;
}

WorkMeshes::WorkMeshes(ModuleOp module) {
  for (TaskGraphOp taskgraph : module.getOps<TaskGraphOp>())
    if (FlatSymbolRefAttr mesh = taskgraph.getMeshAttr())
      meshes[taskgraph.getSymNameAttr()] = mesh.getAttr();
  several = !meshes.empty() && !llvm::all_equal(llvm::make_second_range(meshes));
}

StringAttr WorkMeshes::get(Operation *op) const {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  bool isFixed = work && work.getKind() != WorkKind::apply;
  return isFixed ? meshes.lookup(work.getTaskgraph().getAttr()) : StringAttr();
}
