#include "passes/annotate/Arrivals.h"

#include "dialect/Sharding.h"
#include "dialect/SplitAxes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::epl;

MeshOp mlir::epl::getArrivalMesh(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (auto sharding = function.getArgAttrOfType<ShardingAttr>(index, EplDialect::kArrivesAttr))
        return lookupMesh(function, sharding.getMesh());
  return {};
}

bool mlir::epl::canShare(MeshOp mesh, ArrayRef<TaskGraphOp> taskgraphs, int64_t devices) {
  auto divides = [&](TaskGraphOp taskgraph) {
    TaskGraphOp each = taskgraph;
    return devices % each.getStrategy().getDeviceCount() == 0;
  };
  SmallVector<AxisAttr> own = mesh.getAxesOfRole(AxisRole::model);
  auto fits = [&](auto axis) {
    return axis.index() < own.size() && own[axis.index()].getSize() == axis.value().size;
  };
  return mesh.getNumDevices() == devices && !mesh.getAxesOfRole(AxisRole::data).empty() &&
         llvm::all_of(taskgraphs, divides) && llvm::all_of(llvm::enumerate(getSplitAxes(taskgraphs)), fits);
}

void mlir::epl::dropArrivals(ModuleOp module) {
  if (MeshOp mesh = getArrivalMesh(module))
    mesh.erase();
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      function.removeArgAttr(index, EplDialect::kArrivesAttr);
}
