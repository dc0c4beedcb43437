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

/// A kind of op, and where the compiler makes it and takes it away.
struct Lifetime {
  bool (*contains)(Operation *);
  bool LevelRule::*isAllowed;
  StringRef makes;   ///< the pass that makes such ops; empty if front ends write them
  StringRef removes; ///< the pass that leaves none; empty if they stay
};

template <template <typename> class Trait> bool hasTrait(Operation *op) { return op->hasTrait<Trait>(); }

constexpr Lifetime kLifetimes[] = {
    {hasTrait<ScopeLevel>, &LevelRule::scope, "", "epl-flatten-scopes"},
    {hasTrait<GlobalLevel>, &LevelRule::global, "", "epl-localize"},
    {hasTrait<LocalLevel>, &LevelRule::local, "epl-localize", "epl-form-tasks"},
    {hasTrait<TaskLevel>, &LevelRule::task, "epl-localize or epl-form-tasks", ""},
    {hasTrait<KernelLevel>, &LevelRule::kernel, "the kernel phase", ""},
};

/// Why `op` is not allowed, or null if it is. Levels are in the order of the phases, so what a level does not
/// allow is left over if a level before it does.
const Lifetime *findViolation(const LevelRule &rule, Operation *op) {
  const Lifetime *found = llvm::find_if(kLifetimes, [&](const Lifetime &lifetime) {
    return lifetime.contains(op) && !(rule.*lifetime.isAllowed);
  });
  return found == std::end(kLifetimes) ? nullptr : found;
}

bool isLeftOver(const LevelRule &rule, const Lifetime &lifetime) {
  return llvm::any_of(kRules, [&](const LevelRule &before) {
    return before.level < rule.level && before.*lifetime.isAllowed;
  });
}

InFlightDiagnostic emitNotAllowed(Operation *op, const LevelRule &rule) {
  return op->emitOpError() << "is not allowed at level \"" << rule.name << "\": ";
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
    const Lifetime *violated = findViolation(rule, op);
    bool isDistributed = !rule.local && !rule.task && makesDistributed(op);
    bool isUnclustered =
        level == Level::kernels && isa_and_nonnull<TaskOp>(op->getParentOp()) && !isKernelGlue(op);
    if (!violated && !isDistributed && !isUnclustered)
      return WalkResult::advance();
    if (violated && isLeftOver(rule, *violated))
      emitNotAllowed(op, rule) << violated->removes << " should have removed it";
    else if (violated)
      emitNotAllowed(op, rule) << violated->makes << ", which makes it, comes later";
    else if (isDistributed)
      emitNotAllowed(op, rule) << "it makes a distributed value, which epl-localize does later";
    else if (isa<ClusterOp>(op))
      emitNotAllowed(op, rule) << "epl-outline-kernels should have removed it";
    else
      emitNotAllowed(op, rule) << "epl-form-kernels should have put it into a cluster";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
