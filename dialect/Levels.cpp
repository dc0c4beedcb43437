//===- Levels.cpp - The levels of the epl dialect -------------------------===//

#include "dialect/Epl.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
/// One row of the table: what a level allows.
struct LevelRule {
  Level level;
  StringRef name;
  bool scope, global, local, task, kernel;
};

constexpr LevelRule kRules[] = {
    {Level::input, "input", true, true, false, false, false},
    {Level::global, "global", false, true, false, false, false},
    {Level::local, "local", false, false, true, true, false},
    {Level::tasks, "tasks", false, false, false, true, false},
    {Level::kernels, "kernels", false, false, false, true, true},
};

bool allows(const LevelRule &rule, Operation *op) {
  return (rule.scope || !op->hasTrait<ScopeLevel>()) && (rule.global || !op->hasTrait<GlobalLevel>()) &&
         (rule.local || !op->hasTrait<LocalLevel>()) && (rule.task || !op->hasTrait<TaskLevel>()) &&
         (rule.kernel || !op->hasTrait<KernelLevel>());
}

/// Whether a result or an argument of a region of `op` is an `!epl.dist`.
bool makesDistributed(Operation *op) {
  auto hasDist = [](TypeRange types) { return llvm::any_of(types, llvm::IsaPred<DistType>); };
  return hasDist(op->getResultTypes()) || llvm::any_of(op->getRegions(), [&](Region &region) {
           return !region.empty() && hasDist(region.getArgumentTypes());
         });
}

/// In a task body of the kernel level: what is not a kernel must be free.
bool isKernelGlue(Operation *op) {
  return isa<LaunchOp, YieldOp, AxisIndexOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}
} // namespace

LogicalResult mlir::epl::verifyLevel(Operation *root, Level level) {
  const LevelRule &rule = *llvm::find_if(kRules, [&](const LevelRule &r) { return r.level == level; });
  WalkResult result = root->walk([&](Operation *op) {
    bool inTask = isa_and_nonnull<TaskOp>(op->getParentOp());
    bool isDistributed = allows(rule, op) && !rule.local && !rule.task && makesDistributed(op);
    if (allows(rule, op) && !isDistributed && !(level == Level::kernels && inTask && !isKernelGlue(op)))
      return WalkResult::advance();
    op->emitOpError() << (isDistributed ? "makes a distributed value, which " : "")
                      << "is not allowed at level \"" << rule.name << "\"";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
