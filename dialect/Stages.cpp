//===- Stages.cpp - What is cut into stages of a pipeline -----------------===//

#include "dialect/Stages.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::epl;

static bool isCount(Attribute value) {
  auto count = dyn_cast_or_null<IntegerAttr>(value);
  return count && count.getType().isSignlessInteger(64) && count.getInt() >= 1;
}

static LogicalResult verifyTaskGraphs(Operation *op, Attribute value) {
  auto stages = dyn_cast<ArrayAttr>(value);
  if (!stages || !llvm::all_of(stages, llvm::IsaPred<FlatSymbolRefAttr>))
    return op->emitOpError() << "attribute \"" << kStagesAttr << "\" is not an array of task graphs";
  for (auto stage : stages.getAsRange<FlatSymbolRefAttr>())
    if (!op->getParentOfType<ModuleOp>().lookupSymbol<TaskGraphOp>(stage.getAttr()))
      return op->emitOpError() << "names unknown stage " << stage << ", expected a task graph";
  return success();
}

LogicalResult mlir::epl::verifyStages(Operation *op, Attribute value) {
  if (isa<TaskGraphOp>(op))
    return verifyTaskGraphs(op, value);
  if (isa<ReplicateOp>(op))
    return isCount(value) ? success()
                          : op->emitOpError() << "attribute \"" << kStagesAttr << "\" is " << value
                                              << ", expected an i64 of at least 1";
  auto counts = dyn_cast<DictionaryAttr>(value);
  if (!isa<FunctionOpInterface>(op) || !counts ||
      !llvm::all_of(counts, [](NamedAttribute entry) { return isCount(entry.getValue()); }))
    return op->emitOpError() << "attribute \"" << kStagesAttr
                             << "\" is not that of an epl.replicate, an epl.taskgraph or, as a dictionary of "
                                "i64s of at least 1, a function";
  return success();
}

int64_t mlir::epl::getNumStages(Operation *function, StringAttr id) {
  auto counts = function->getAttrOfType<DictionaryAttr>(kStagesAttr);
  auto count = counts ? counts.getAs<IntegerAttr>(id) : IntegerAttr();
  return count ? count.getInt() : 1;
}

SmallVector<TaskGraphOp> mlir::epl::getStages(TaskGraphOp taskgraph) {
  auto parts = taskgraph->getAttrOfType<ArrayAttr>(kStagesAttr);
  if (!parts)
    return {};
  auto module = taskgraph->getParentOfType<ModuleOp>();
  SmallVector<TaskGraphOp> stages = {taskgraph};
  for (auto symbol : parts.getAsRange<FlatSymbolRefAttr>())
    stages.push_back(module.lookupSymbol<TaskGraphOp>(symbol.getAttr()));
  return stages;
}
