//===- SplitRoles.cpp - A worker's program and those of servers -----------===//
//
// Problem: with parameter servers a step is computed by two kinds of processes, of which each has a part of
// it. Method: what applies gradients is servers' work, parameter by parameter, all else is workers'
// (StepSplit.h). The worker's program is what is left of the step (WorkerProgram.h); each group of states is
// a function, written anew for the rows of each block (ServerPrograms.h, BlockRows.h). Invariant in: a global
// program, every op with its `epl.work`, before anything is sharded. Invariant out: the same for a worker;
// for servers steps as design 4.1 has them. Reference: M. Li et al., "Scaling Distributed Machine Learning
// with the Parameter Server", 2014; Fluid's DistributeTranspiler.
//
//===----------------------------------------------------------------------===//

#include "dialect/Servers.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/servers/Manifest.h"
#include "passes/shard/servers/WorkerProgram.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-split-roles"

namespace mlir::epl {
#define GEN_PASS_DEF_SPLITROLESPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numGroups, "Parameters with what is updated with them");
ALWAYS_ENABLED_STATISTIC(numBlocks, "Blocks of these");
ALWAYS_ENABLED_STATISTIC(numPushes, "Values that workers push");

namespace {
struct SplitRolesPass : epl::impl::SplitRolesPassBase<SplitRolesPass> {
  using SplitRolesPassBase::SplitRolesPassBase;

  void runOnOperation() override {
    if (failed(verifyOptions()) || failed(split()))
      signalPassFailure();
  }

private:
  LogicalResult verifyOptions() {
    if (servers < 1)
      return getOperation().emitError() << int64_t(servers) << " servers, expected at least 1";
    if (minBlockSize < 1)
      return getOperation().emitError()
             << "blocks of at least " << int64_t(minBlockSize) << " elements, expected at least 1";
    return success();
  }

  LogicalResult split() {
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(getOperation());
    if (failed(functions))
      return failure();
    if (functions->size() != 1)
      return getOperation().emitError() << "has " << functions->size() << " steps, expected one to split";
    FailureOr<std::unique_ptr<StepSplit>> made = StepSplit::create(functions->front(), withTables);
    if (failed(made))
      return failure();
    numGroups += (*made)->getGroups().size();
    numPushes += (*made)->getPushes().size();
    if (role == ServerRole::server)
      return writeServers(**made);
    makeWorkerProgram(**made);
    return success();
  }

  LogicalResult writeServers(const StepSplit &split) {
    ModuleOp module = getOperation();
    if (Operation *mixing = split.findMixing(); mixing && program.empty())
      emitRemark(mixing->getLoc())
          << "this is made of gradients of several parameters, so each worker does it, of "
             "its own gradients, before they are pushed";
    BlockOptions options{servers, minBlockSize, slice, compensate};
    SmallVector<GroupPlan> plans = writeServerPrograms(split, options, /*explain=*/program.empty());
    module->setAttr(kServersAttr, getManifest(split, plans));
    for (const auto &[group, plan] : llvm::zip_equal(split.getGroups(), plans)) {
      LDBG() << describeArgument(split.getStep(), group.parameter.getArgNumber()) << ": "
             << group.states.size() << " states that are updated together, in " << plan.blocks.size()
             << " blocks";
      numBlocks += plan.blocks.size();
    }
    split.getStep().erase();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<TaskGraphOp, MeshOp>(op))
        op.erase();
    return keepProgram();
  }

  /// Drops all programs but the one that was asked for.
  LogicalResult keepProgram() {
    ModuleOp module = getOperation();
    if (program.empty())
      return success();
    if (!module.lookupSymbol<func::FuncOp>(program))
      return module.emitError() << "no server has a program \"" << program << "\"";
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.getSymName() != program)
        function.erase();
    return success();
  }
};
} // namespace
