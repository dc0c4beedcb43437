//===- Place.cpp - Make every change of distribution an op ----------------===//
//
// Problem: after propagation operands may be distributed otherwise than their op needs, and sums are pending
//   without a place where they are completed.
// Method: on each axis, collect the partial values, their flows and the uses that need them complete, and let
//   `placement` choose the values to complete. Then compare what each use needs with what its operand has:
//   one `epl.reshard` for each value and target, right after the value, shared by all uses. A value that has
//   several targets is first completed as far as all of them need it. Uniform values (empty tensors,
//   constants, fills) are not resharded but rematerialized. Each reshard says which ops are why (Causes.h).
// Invariant in: `epl-propagate` has run.
// Invariant out: `epl-verify-sharded` holds; no constraint is left.
// Reference: propagation of partial values in GSPMD (Xu et al., 2021); Shardy's insert-explicit-reshards.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisPlacement.h"
#include "passes/shard/explain/Causes.h"
#include "passes/shard/explain/Conflicts.h"
#include "passes/shard/place/ReshardBuilder.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-place"

namespace mlir::epl {
#define GEN_PASS_DEF_PLACEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numMended, "Values that are needed otherwise than they are made");
ALWAYS_ENABLED_STATISTIC(numReshards, "Reshards that stand for that");
ALWAYS_ENABLED_STATISTIC(numRematerialized, "Copies of what is made again instead");

namespace {
/// A use that needs another sharding than its operand has.
struct Mismatch {
  OpOperand *use;
  ShardingAttr needed;
};
/// The mismatches of each value, in program order.
using Mismatches = llvm::MapVector<Value, SmallVector<Mismatch>>;
} // namespace

/// What a use needs of its operand, all axes taken together.
static ShardingAttr getNeeded(OpOperand &use, MeshOp mesh, ArrayRef<AxisPlacement> placements) {
  ShardingAttr needed = getSharding(use.get());
  for (auto [axis, placement] : llvm::zip_equal(mesh.getAxes().getAsRange<AxisAttr>(), placements))
    needed = withAxisState(needed, mesh, axis.getName(), placement.getNeededState(use));
  return needed;
}

static Mismatches findMismatches(func::FuncOp program, MeshOp mesh, ArrayRef<AxisPlacement> placements) {
  Mismatches mismatches;
  auto check = [&](OpOperand &use) {
    if (!isa<RankedTensorType>(use.get().getType()))
      return;
    ShardingAttr needed = getNeeded(use, mesh, placements);
    if (needed != getSharding(use.get()))
      mismatches[use.get()].push_back({&use, needed});
  };
  for (Operation &op : program.getBody().front()) {
    for (OpOperand &use : op.getOpOperands())
      check(use);
    for (OpOperand *captured : getCapturedTensors(&op))
      check(*captured);
  }
  return mismatches;
}

/// The work of the op of `program` in which `user` stands; that of the first op if it is the return, and that
/// of the first task graph if there is no other op.
static WorkAttr getWork(func::FuncOp program, MeshOp mesh, Operation *user) {
  Block &body = program.getBody().front();
  for (Operation *op : {body.findAncestorOpInBlock(*user), &body.front()})
    if (auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr))
      return work;
  SmallVector<TaskGraphOp> taskgraphs = getTaskGraphs(mesh);
  if (taskgraphs.empty())
    return {};
  auto name = FlatSymbolRefAttr::get(taskgraphs.front().getSymNameAttr());
  return WorkAttr::get(program.getContext(), name, WorkKind::forward);
}

/// `own`, complete over the axes over which no use needs it pending.
static ShardingAttr completeForAll(ShardingAttr own, ArrayRef<Mismatch> uses, MeshOp mesh) {
  for (StringRef axis : own.getPartialAxes())
    if (llvm::none_of(
            uses, [&](const Mismatch &use) { return llvm::is_contained(use.needed.getPartialAxes(), axis); }))
      own = withAxisState(own, mesh, axis, AxisState());
  return own;
}

/// Gives every use of `value` that needs it a value of the sharding that it needs.
static void mend(Value value, ArrayRef<Mismatch> uses, func::FuncOp program, MeshOp mesh,
                 ReshardBuilder &builder) {
  ShardingAttr first = uses.front().needed;
  bool agree = llvm::all_of(uses, [&](const Mismatch &use) { return use.needed == first; });
  ShardingAttr common = agree ? getSharding(value) : completeForAll(getSharding(value), uses, mesh);
  for (const Mismatch &use : uses) {
    WorkAttr work = getWork(program, mesh, use.use->getOwner());
    use.use->set(builder.get(builder.get(value, common, work), use.needed, work));
  }
}

/// Erases the constraints, whose operands are distributed as they say now, and the reshards of seeds that
/// have nothing left to do.
static void eraseIdentities(func::FuncOp program) {
  for (auto constrain : llvm::make_early_inc_range(program.getOps<ConstrainOp>())) {
    constrain.replaceAllUsesWith(constrain.getOperand());
    constrain.erase();
  }
  for (auto reshard : llvm::make_early_inc_range(program.getOps<ReshardOp>()))
    if (getSharding(reshard.getOperand()) == reshard.getSharding()) {
      reshard.replaceAllUsesWith(reshard.getOperand());
      reshard.erase();
    }
}

namespace {
struct Place : epl::impl::PlacePassBase<Place> {
  using PlacePassBase::PlacePassBase;

  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofAll);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(verifyNotPlaced(function)))
        return signalPassFailure();
    for (auto [function, mesh] : *programs)
      place(function, mesh);
  }

  void place(func::FuncOp program, MeshOp mesh) {
    FunctionRules rules(program, mesh);
    SmallVector<AxisPlacement, 0> placements;
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
      placements.emplace_back(rules, axis).commit();
    if (explain)
      explainConflicts(rules, placements);
    ReshardBuilder builder(rules);
    for (auto &[value, uses] : findMismatches(program, mesh, placements)) {
      LDBG() << value.getType() << " of " << getSharding(value) << " has " << uses.size() << " other uses";
      ++numMended;
      mend(value, uses, program, mesh, builder);
    }
    numRematerialized += builder.getNumRematerialized();
    builder.eraseUnread();
    eraseIdentities(program);
    numReshards += llvm::range_size(program.getOps<ReshardOp>());
    explainReshards(program, mesh);
    if (explain)
      remarkSums(program);
  }
};
} // namespace
