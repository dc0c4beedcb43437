//===- FindStages.cpp - A task graph as stages of a pipeline --------------===//
//
// Problem: a step is to be a pipeline of p stages, and nobody has said which op is in which.
// Method: the work of the task graph is a chain of blocks (WorkChain.h), cut where the largest stage is least
//   (StageCuts.h). Costs are those of the machine (WorkCosts.h): multiply-adds and memory of each block,
//   forward and backward, on one replica; bytes and messages of what stages send. Ops are stamped with the
//   task graph of their stage, so that all passes behind see what a user would have written with p scopes.
// Invariant in: a global program, every op with its `epl.work`, every task graph on a mesh; no loops in the
//   forward and backward work of a task graph with `epl.stages`.
// Invariant out: the same, and no task graph has `epl.stages`.
// Reference: Narayanan et al., "PipeDream", 2019, section 3.1 (a chain of layers, by dynamic programming);
//   EPL's auto_parallel with pipeline.num_stages (the meaning).
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "dialect/Machine.h"
#include "dialect/Stages.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/stages/StageReport.h"
#include "passes/shard/stages/WorkCosts.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-find-stages"

namespace mlir::epl {
#define GEN_PASS_DEF_FINDSTAGESPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numBlocks, "Blocks of work that could be stages");
ALWAYS_ENABLED_STATISTIC(numStages, "Stages that were found");

//===----------------------------------------------------------------------===//
// What is cut
//===----------------------------------------------------------------------===//

static bool areOnOneMesh(ArrayRef<TaskGraphOp> stages) {
  return llvm::all_of(stages, [&](TaskGraphOp stage) {
    return stage.getMeshAttr() == TaskGraphOp(stages.front()).getMeshAttr();
  });
}

/// How many replicas of a stage share the batch.
static int64_t getNumReplicas(MeshOp mesh) {
  int64_t replicas = 1;
  for (AxisAttr axis : mesh.getAxesOfRole(AxisRole::data))
    replicas *= axis.getSize();
  return replicas;
}

static StageChain makeChain(func::FuncOp function, const WorkChain &work, ArrayRef<TaskGraphOp> stages,
                            int64_t microBatches) {
  WorkCosts costs(function, work);
  StageChain chain{work.getNumBlocks(), {}, {}};
  chain.stages.reserve(stages.size());
  int64_t replicas = 1;
  for (TaskGraphOp stage : stages) {
    MeshOp mesh = lookupMesh(stage, stage.getMeshAttr());
    MachineAttr machine = getMachine(mesh);
    LinkAttr link = getMeshLink(machine);
    replicas = getNumReplicas(mesh);
    chain.stages.push_back({costs.getSeconds(machine, replicas), 1 / double(link.getBytesPerSecond()),
                            double(link.getLatencyNs()) / 1e9});
  }
  chain.values = costs.getValues(replicas, microBatches);
  return chain;
}

static LogicalResult verifyWork(func::FuncOp function, TaskGraphOp taskgraph, const WorkChain &work,
                                size_t stages) {
  Loops loops(function.front());
  for (Operation *op : work.getOps())
    if (op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr).getKind() != WorkKind::apply && loops.getLoop(op))
      return op->emitOpError() << "of a loop is in work that is cut into stages, expected after "
                                  "\"epl-unroll-loops\"";
  if (work.getNumBlocks() >= stages)
    return success();
  InFlightDiagnostic error = emitError(taskgraph.getLoc()) << stages << " stages of a pipeline to be found";
  if (work.getNumBlocks() == 0)
    return error << ", but no forward work multiplies samples of a batch: nothing to cut; name the arguments "
                    "that hold samples (\"batch\" of epl.parallelize), or give up stages";
  error << ", but the forward work has " << work.getNumBlocks()
        << (work.getNumBlocks() == 1 ? " block" : " blocks")
        << ", one for each product of samples, expected at most as many stages";
  for (unsigned block = 0; block < work.getNumBlocks(); ++block)
    error.attachNote(work.getProduct(block)->getLoc()) << "a block is here";
  return error;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static size_t getStage(const WorkChain &work, const StageCuts &cuts, Operation *op) {
  return llvm::upper_bound(cuts.ends, work.getBlock(op)) - cuts.ends.begin();
}

/// Recomputed work that goes on behind a cut begins there with what the forward work has sent. It would wait
/// for an earlier stage's, and that for gradients of this one, else.
static void cutRecomputed(const WorkChain &work, const StageCuts &cuts) {
  for (Operation *op : work.getOps())
    for (OpOperand &operand : op->getOpOperands()) {
      Value forward = work.getForward(operand.get());
      if (forward != operand.get() &&
          getStage(work, cuts, forward.getDefiningOp()) < getStage(work, cuts, op))
        operand.set(forward);
    }
  for (Operation *op : llvm::reverse(work.getOps()))
    if (isOpTriviallyDead(op) && work.getForward(op->getResult(0)) != op->getResult(0))
      op->erase();
}

static void stamp(const WorkChain &work, ArrayRef<TaskGraphOp> stages, const StageCuts &cuts) {
  for (Operation *op : work.getOps()) {
    size_t stage = getStage(work, cuts, op);
    auto symbol = FlatSymbolRefAttr::get(TaskGraphOp(stages[stage]).getSymNameAttr());
    auto kind = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr).getKind();
    op->setAttr(EplDialect::kWorkAttr, WorkAttr::get(op->getContext(), symbol, kind));
  }
}

namespace {
struct FindStages : epl::impl::FindStagesPassBase<FindStages> {
  using FindStagesPassBase::FindStagesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(module);
    if (failed(functions))
      return signalPassFailure();
    for (auto taskgraph : llvm::to_vector(module.getOps<TaskGraphOp>())) {
      SmallVector<TaskGraphOp> stages = getStages(taskgraph);
      taskgraph->removeAttr(kStagesAttr);
      if (stages.empty() || areOnOneMesh(stages))
        continue;
      for (func::FuncOp function : *functions)
        if (failed(cut(function, stages)))
          return signalPassFailure();
    }
  }

  LogicalResult cut(func::FuncOp function, ArrayRef<TaskGraphOp> stages) {
    WorkChain work(function, stages.front());
    if (failed(verifyWork(function, stages.front(), work, stages.size())))
      return failure();
    StageChain chain = makeChain(function, work, stages, microBatches);
    std::optional<StageCuts> cuts = findStageCuts(chain);
    numBlocks += chain.numBlocks;
    numStages += stages.size();
    LDBG() << chain.numBlocks << " blocks in " << stages.size() << " stages, the largest takes "
           << cuts->seconds << " s";
    if (explain)
      explainStages(function, work, chain, *cuts);
    stamp(work, stages, *cuts);
    cutRecomputed(work, *cuts);
    return success();
  }
};
} // namespace
