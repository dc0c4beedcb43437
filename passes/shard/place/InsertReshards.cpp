//===- InsertReshards.cpp - Every change of distribution is an op ---------===//

#include "passes/shard/place/InsertReshards.h"

#include "passes/shard/analysis/Rules.h"
#include "passes/shard/place/ReshardBuilder.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-insert-reshards"

using namespace mlir;
using namespace mlir::epl;

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

InsertedReshards mlir::epl::insertReshards(const FunctionRules &rules, ArrayRef<AxisPlacement> placements) {
  func::FuncOp program = rules.getFunction();
  InsertedReshards inserted;
  ReshardBuilder builder(rules);
  for (auto &[value, uses] : findMismatches(program, rules.getMesh(), placements)) {
    LDBG() << value.getType() << " of " << getSharding(value) << " has " << uses.size() << " other uses";
    ++inserted.mended;
    mend(value, uses, program, rules.getMesh(), builder);
  }
  inserted.rematerialized = builder.getNumRematerialized();
  builder.eraseUnread();
  return inserted;
}
