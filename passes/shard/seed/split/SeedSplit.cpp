//===- SeedSplit.cpp - Tensor parallelism splits parameters ---------------===//
//
// Problem: a task graph that is split says over how many devices, not which tensors along which dimensions.
// Method: for each axis of role `model` (task graphs that are split over different counts have several) the
//   states that are read by a task graph which does not shard its batch over the axis are decided:
//     1. what the user says of them (`dims`, SplitConstraints.h);
//     2. a search for the dimension of each other parameter (SplitSearch.h);
//     3. propagation, for the optimizer's state, biases and gains.
//   In the end experts are spread over replicas (SpreadExperts.h).
// Invariant in: `epl-seed-batch` has run: every tensor argument has a sharding.
// Invariant out: those of states are split on "model" as well, if there is such an axis; those that were
// split
//   by hand are as they were.
// Reference: Shoeybi et al., "Megatron-LM", 2019, section 3 (what the search finds for a transformer); EPL's
//   `split`.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/Describe.h"
#include "passes/shard/seed/split/SplitConstraints.h"
#include "passes/shard/seed/split/SplitReport.h"
#include "passes/shard/seed/split/SplitSearch.h"
#include "passes/shard/seed/split/SpreadExperts.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-split"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDSPLITPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numKinds, "Kinds of parameters");
ALWAYS_ENABLED_STATISTIC(numSplit, "Parameters and states of them that are split");
ALWAYS_ENABLED_STATISTIC(numChoices, "Choices of dimensions that were evaluated");
ALWAYS_ENABLED_STATISTIC(numSteps, "Ops that were looked at for them");

/// Whether a sharding by hand splits one of the arguments over the axis.
static bool isSplit(BlockArgument argument, AxisAttr axis) {
  ShardingAttr sharding = getSharding(argument);
  return sharding && getAxisState(sharding, axis.getName()).isSharded();
}

/// The states of floating point that are not split by hand and need not stay whole: parameters, and what an
/// optimizer keeps of them.
static SmallVector<BlockArgument> getOpenStates(func::FuncOp function, AxisAttr axis,
                                                const SplitConstraints &constraints) {
  auto staysWhole = [&](BlockArgument argument) {
    const auto *constraint = constraints.find(argument);
    return constraint != constraints.end() && !constraint->second.state.isSharded();
  };
  return llvm::filter_to_vector(function.getArguments(), [&](BlockArgument argument) {
    return isFloatState(argument) && !isSplit(argument, axis) && !staysWhole(argument);
  });
}

/// The dimensions that the axis is constrained to split.
static DenseMap<BlockArgument, int64_t> getConstrainedDims(const SplitConstraints &constraints) {
  DenseMap<BlockArgument, int64_t> dims;
  for (const auto &[argument, constraint] : constraints)
    if (constraint.state.isSharded())
      dims[argument] = constraint.state.dim;
  return dims;
}

namespace {
struct SeedSplit : epl::impl::SeedSplitPassBase<SeedSplit> {
  using SeedSplitPassBase::SeedSplitPassBase;

  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(verifySplitConstraints(function, mesh)))
        return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(seed(function, mesh)))
        return signalPassFailure();
  }

  LogicalResult seed(func::FuncOp program, MeshOp mesh) {
    llvm::SmallSetVector<BlockArgument, 8> searched;
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
      if (axis.isModel() && failed(seed(program, mesh, axis, searched)))
        return failure();
    spreadExperts(program, mesh, searched.getArrayRef(), explain);
    return success();
  }

  /// Adds to `searched` the states that the axis may split.
  LogicalResult seed(func::FuncOp program, MeshOp mesh, AxisAttr axis,
                     llvm::SmallSetVector<BlockArgument, 8> &searched) {
    FailureOr<SplitConstraints> constraints = getSplitConstraints(program, mesh, axis);
    if (failed(constraints))
      return failure();
    FunctionRules rules(program, mesh);
    SmallVector<BlockArgument> states = getOpenStates(program, axis, *constraints);
    searched.insert_range(states);
    DenseMap<BlockArgument, int64_t> constrained = getConstrainedDims(*constraints);
    SplitSearch search(rules, axis, states, constrained);
    Propagation result = search.run();
    numKinds += search.getKinds().size();
    numChoices += search.getNumChoices();
    numSteps += search.getNumSteps();
    for (const ParameterKind &kind : search.getKinds())
      LDBG() << describeArguments(program, kind.members) << ", " << kind.members.size() << " of them, along "
             << result.getState(kind.members.front()).dim;
    for (BlockArgument state : states)
      numSplit += result.getState(state).isSharded();
    for (BlockArgument state : states)
      setSharding(state, withAxisState(getSharding(state), mesh, axis.getName(), result.getState(state)));
    if (explain)
      explainSplit(program, axis, search.getKinds(), result, *constraints);
    auto isByHand = [&](BlockArgument argument) { return isSplit(argument, axis); };
    auto isSaid = [&](ConstrainOp constrain) {
      return constrain.getConstraint().getDimOf(axis.getName()).value_or(-1) >= 0;
    };
    if (search.getKinds().empty() && constraints->empty() &&
        llvm::none_of(program.getArguments(), isByHand) &&
        llvm::none_of(program.getOps<ConstrainOp>(), isSaid))
      program.emitWarning() << "no parameter has a dimension that " << axis.getSize()
                            << " devices can split: every device computes all of it";
    return success();
  }
};
} // namespace
