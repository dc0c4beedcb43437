//===- SeedSplit.cpp - Tensor parallelism splits parameters ---------------===//
//
// Problem: a task graph that is split says over how many devices, not which tensors along which dimensions.
// Method: the states of the step may be split over the axis "model", those that a task graph reads which does
//   not shard its batch over it. Which dimension of each parameter is, a search decides (SplitSearch.h);
//   optimizer state, biases and gains follow by propagation. Task graphs that are split over different counts
//   have further axes, "model2" and so on: each is searched after the others.
// Invariant in: `epl-seed-batch` has run: every tensor argument has a sharding.
// Invariant out: those of states are split on "model" as well, if there is such an axis; who was so before is
//   split as before.
// Reference: Shoeybi et al., "Megatron-LM", 2019, section 3 (what the search finds for a transformer); EPL's
// `split`.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/SplitSearch.h"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDSPLITPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// Whether a sharding by hand splits one of the arguments over the axis.
static bool isSplit(BlockArgument argument, AxisAttr axis) {
  ShardingAttr sharding = getSharding(argument);
  return sharding && getAxisState(sharding, axis.getName()).isSharded();
}

/// The states of floating point that are not split by hand: parameters, and what an optimizer keeps of them.
static SmallVector<BlockArgument> getOpenStates(func::FuncOp function, AxisAttr axis) {
  return llvm::filter_to_vector(function.getArguments(), [&](BlockArgument argument) {
    return isFloatState(argument) && !isSplit(argument, axis);
  });
}

/// What was chosen for the parameters of a kind, and what it was chosen over.
static void explainKind(func::FuncOp function, const ParameterKind &kind, const Propagation &result) {
  InFlightDiagnostic remark = function.emitRemark() << kind.name << " of " << kind.members.front().getType();
  if (kind.members.size() > 1)
    remark << ", " << kind.members.size() << " of them";
  AxisState state = result.getState(kind.members.front());
  if (!state.isSharded())
    remark << ": not split";
  else
    remark << ": split along dimension " << state.dim << (kind.split ? "" : " as others ask for");
  if (kind.bytes)
    remark << ", " << *kind.bytes << " bytes exchanged";
  if (kind.runnerUp)
    remark << "; along dimension " << *kind.runnerUp << " " << *kind.runnerUpBytes;
}

namespace {
struct SeedSplit : epl::impl::SeedSplitPassBase<SeedSplit> {
  using SeedSplitPassBase::SeedSplitPassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = getSpatialMesh(getOperation());
    FailureOr<SmallVector<func::FuncOp>> programs = getPrograms(getOperation());
    if (failed(mesh) || failed(programs))
      return signalPassFailure();
    for (AxisAttr axis : mesh->getAxes().getAsRange<AxisAttr>())
      if (isModelAxis(axis.getName()))
        for (func::FuncOp program : *programs)
          seed(program, *mesh, axis);
  }

  void seed(func::FuncOp program, MeshOp mesh, AxisAttr axis) {
    FunctionRules rules(program, mesh);
    SmallVector<BlockArgument> states = getOpenStates(program, axis);
    SplitSearch search(rules, axis, states);
    Propagation result = search.run();
    for (BlockArgument state : states)
      setSharding(state, withAxisState(getSharding(state), mesh, axis.getName(), result.getState(state)));
    if (explain)
      for (const ParameterKind &kind : search.getKinds())
        explainKind(program, kind, result);
    auto isByHand = [&](BlockArgument argument) { return isSplit(argument, axis); };
    if (search.getKinds().empty() && llvm::none_of(program.getArguments(), isByHand))
      program.emitWarning() << "no parameter has a dimension that " << axis.getSize()
                            << " devices can split: every device computes all of it";
  }
};
} // namespace
