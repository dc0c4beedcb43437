//===- Propagate.cpp - From a few shardings to one for every value --------===//
//
// Problem: some arguments have a sharding; every value of the step must get one that makes little traffic.
// Method: one axis at a time. Forward in program order, each op shards the factor that its operands vote for
//   (factor rules, `FactorChoice`), and sums over it stay pending as far as ops are linear. Then once in
//   reverse into replicated producers whose uses all slice them. Arguments without a sharding join, tied to
//   the results that update them, until nothing changes. A reshard says what its result is.
// Invariant in: a global program (`verifyLevel`); one mesh; shardings on arguments fit.
// Invariant out: `epl.sharding` on every argument and every op with tensor results. Operands may disagree
//   with their op's choice: `epl-place` resolves that.
// Reference: Xu et al., "GSPMD", 2021; Shardy's factor propagation.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/Propagation.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-propagate"

namespace mlir::epl {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numSharded, "Ops that an axis shards");
ALWAYS_ENABLED_STATISTIC(numWhole, "Ops that all members of an axis do alike, or on their addends");
ALWAYS_ENABLED_STATISTIC(numArguments, "Arguments that were sharded because of what reads or updates them");

/// A sharding to start from names axes in mesh order and leaves nothing pending.
static LogicalResult verifySeed(Operation *owner, ShardingAttr sharding, MeshOp mesh, const Twine &name) {
  if (sharding.isPartial())
    return owner->emitError() << "sharding of " << name << " is partial";
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
    if (withAxisState(sharding, mesh, axis.getName(), getAxisState(sharding, axis.getName())) != sharding)
      return owner->emitError() << "sharding of " << name << " names axes of one dimension out of mesh order";
  return success();
}

/// Shardings that stand on arguments and reshards, which fit them, can be started from.
static LogicalResult verifySeeds(func::FuncOp function, MeshOp mesh) {
  for (BlockArgument argument : function.getArguments()) {
    ShardingAttr sharding = getSharding(argument);
    if (!sharding)
      continue;
    std::string name = describeArgument(function, argument.getArgNumber());
    if (failed(verifySeed(function, sharding, mesh, name)))
      return failure();
  }
  for (auto reshard : function.getOps<ReshardOp>())
    if (failed(verifySeed(reshard, reshard.getSharding(), mesh, "the reshard")))
      return failure();
  return success();
}

/// The tensor arguments without a sharding.
static SmallVector<BlockArgument> getOpenArguments(func::FuncOp function) {
  return llvm::to_vector(llvm::make_filter_range(function.getArguments(), [](BlockArgument argument) {
    return isa<RankedTensorType>(argument.getType()) && !getSharding(argument);
  }));
}

static void remarkRules(const FunctionRules &rules) {
  for (Operation &op : rules.getFunction().getBody().front().without_terminator()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printRule(os, rules.getRule(&op));
    op.emitRemark() << "rule " << text;
  }
}

namespace {
struct Propagate : epl::impl::PropagatePassBase<Propagate> {
  using PropagatePassBase::PropagatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<Program>> programs = getPrograms(module);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(propagate(function, mesh)))
        return signalPassFailure();
  }

  static void count(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open,
                    const Propagation &propagation) {
    for (Operation *op : rules.getOps()) {
      int64_t factor = propagation.getChoice(op);
      LDBG() << op->getName() << " over " << axis.getName() << ": factor " << factor;
      ++(factor == FactorRule::kBlocked ? numWhole : numSharded);
    }
    for (BlockArgument argument : open)
      numArguments += propagation.getState(argument).isSharded();
  }

  LogicalResult propagate(func::FuncOp function, MeshOp mesh) {
    if (failed(verifySeeds(function, mesh)))
      return failure();
    FunctionRules rules(function, mesh);
    if (printRules)
      remarkRules(rules);
    SmallVector<BlockArgument> open = getOpenArguments(function);
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>()) {
      Propagation propagation(rules, axis, open);
      propagation.run();
      propagation.commit();
      count(rules, axis, open, propagation);
    }
    return success();
  }
};
} // namespace
